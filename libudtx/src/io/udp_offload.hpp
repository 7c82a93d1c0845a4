// UDP segmentation and receive offload (GSO, GRO) of Linux, also for C libraries that are older than these options.
#pragma once

#include <netinet/udp.h>

// These values are the kernel's ABI (linux/udp.h).
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

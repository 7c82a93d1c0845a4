// Stand-ins for memory and threads. operator new calls malloc(), and so does OpenSSL, so replacing malloc() covers all.
#include <pthread.h>

#include <cerrno>
#include <cstddef>

#include "stand_in.hpp"

using udtx::faults::error_of;
using udtx::faults::Kind;

// glibc provides these for programs that replace its allocator. dlsym() may itself allocate, so it cannot be used.
extern "C" {
void* __libc_malloc(std::size_t n);
void* __libc_calloc(std::size_t count, std::size_t n);
void* __libc_realloc(void* at, std::size_t n);
void* __libc_memalign(std::size_t alignment, std::size_t n);
}

namespace {

bool refused() {
    if (error_of(Kind::memory) == 0) return false;
    errno = ENOMEM;
    return true;
}

}  // namespace

UDTX_STAND_IN(void*, malloc, (std::size_t n)) { return refused() ? nullptr : __libc_malloc(n); }
UDTX_STAND_IN(void*, calloc, (std::size_t count, std::size_t n)) {
    return refused() ? nullptr : __libc_calloc(count, n);
}
UDTX_STAND_IN(void*, realloc, (void* at, std::size_t n)) { return refused() ? nullptr : __libc_realloc(at, n); }
UDTX_STAND_IN(void*, aligned_alloc, (std::size_t alignment, std::size_t n)) {
    return refused() ? nullptr : __libc_memalign(alignment, n);
}
UDTX_STAND_IN(void*, memalign, (std::size_t alignment, std::size_t n)) {
    return refused() ? nullptr : __libc_memalign(alignment, n);
}
UDTX_STAND_IN(int, posix_memalign, (void** out, std::size_t alignment, std::size_t n)) {
    void* at = refused() ? nullptr : __libc_memalign(alignment, n);
    if (at == nullptr) return ENOMEM;
    *out = at;
    return 0;
}

UDTX_STAND_IN(int, pthread_create, (pthread_t * out, const pthread_attr_t* how, void* (*run)(void*), void* with)) {
    UDTX_REAL(pthread_create, int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*));
    const int error = error_of(Kind::thread);
    return error != 0 ? error : real(out, how, run, with);
}

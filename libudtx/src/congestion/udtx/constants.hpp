// The constants of udtx, with unit and reason. A literal beside its only use is not repeated here.
#pragma once

#include "udtx/rate.hpp"

namespace udtx::congestion {

struct UdtxConstants {
    // The law
    double half_delay = 4e-3;  ///< s, q_h of a short path with a deep buffer: one `udtx` flow keeps an eighth of it
    double half_delay_per_rtt = 0.03;  ///< more on a long path, where shares would else need too many round trips
    double min_half_delay = 1e-3;      ///< s: timers hide a shorter queue
    double half_delay_packets = 3.0;   ///< Lp, least q_h: a queue consists of packets
    double many_flows = 5.0;           ///< q_h: the queue of thirty `udtx` flows, and the least full buffer in q_h
    double rest = 0.12;                ///< of q_h: the queue kept so that the link never runs dry
    double rest_alone = 0.35;          ///< the same for a flow alone: threads of a busy host are late
    double alone = 0.9;                ///< of C, delivered: the flow has no serious competitor
    double loop_gain = 0.6;            ///< part of an excess of all flows that one loop time removes: stable up to 1
    double settle_gain = 2.7;          ///< the same for a difference between flows, which moves no queue
    double least_gain = 0.2;           ///< of both gains, at a small queue
    double max_beta = 0.25;            ///< of the distance to the target, in one loop time
    double max_step = 0.2;             ///< of that distance, per feedback
    double mean_rtts = 10.0;           ///< time constant of the mean queue
    double empty_rtts = 4.0;           ///< a second time constant while the queue is empty: others have gone
    double max_share = 1.05;           ///< of C, most x: finds an error of C or a free link
    double max_thinning = 0.35;        ///< most random loss that a higher rate makes up for
    double push = 0.02;                ///< growth in a round trip beyond the believed link rate
    double least_packets = 4.0;        ///< in a round trip: the lowest rate measures the path
    double least_time = 0.1;           ///< s, if longer: on a slow short path more would fill the queue
    double empty = 0.25;               ///< of q_h: a shorter queue counts as empty
    double probe = 1.25;               ///< gain that finds more (BBR, draft-ietf-ccwg-bbr-06, section 5.3.3.4)

    // Times
    double settle_time = 1.0;  ///< s in which jitter, a queue or a rate shows
    double rounds = 3.0;       ///< round trips in which growth or jitter shows
    double effect_rtts = 2.0;  ///< round trips until what a flow did shows
    double long_rtts = 12.0;   ///< round trips after which a queue lasts, and that deliveries of a rough path live
    Duration base_life = std::chrono::seconds(10);  ///< a clock drifts by 1 ms in that time
    double least_rough_life =
        3.0;  ///< s, of the base and of deliveries on a rough path, where a higher rate changes both

    // The start
    double initial_packets = 18.0;  ///< first window: a train and a pair
    double blind_packets = 64.0;    ///< window by which a probe should have measured the link
    double flooded = 0.25;          ///< lost packets for each that arrived: the link is full, though no delay shows it
    double start = 0.5;             ///< of C: the rate in the first round trip after the first train
    double shared_start = 0.2;      ///< of C: what a new flow keeps of a busy link
    double ramp_loss = 0.005;       ///< congestion loss that ends the ramp
    double sole = 0.6;              ///< of C, delivered: more than a new flow gets of a busy link
    double shared_rtts = 0.125;     ///< RTTs after which a queue is that of others: own bursts are shorter
    double heavy_loss = 0.1;        ///< loss ratio that ends the first ramp, and starts trials on rough paths

    // The start on a known path (draft-ietf-tsvwg-careful-resume)
    double known_part = 0.5;        ///< of the known capacity: half, as saved_cwnd/2 there
    double least_known_rtts = 0.5;  ///< of the known RTT: a shorter one is that of another path
    double most_known_rtts = 10.0;  ///< of the known RTT: the same for a longer one
    double few_lost = 4.0;          ///< packets: fewer losses of the window are chance

    // The link rate
    double open = 2.0;             ///< of deliveries: the link may be so fast while trains give a lower bound
    double degree_slow = 0.3;      ///< CD: alpha of the tiers (Park, Jang, Cho 2015, algorithm 2)
    double degree_fast = 0.7;      ///< CD: beta of the tiers
    double slow = 1.0 / 8.0;       ///< weight of a new estimate at a low CD
    double fast = 7.0 / 8.0;       ///< weight of a lower one at a higher CD
    double least_part = 0.1;       ///< of the mean of estimates that err: a lower one counts as this
    double average = 1.0 / 300.0;  ///< weight of an estimate that errs: 3 s of SYNs
    double limit_growth = 0.02;    ///< a second, of the rate that a policer lets pass
    double most_mtr = 1e12;        ///< bytes/s: bounds what a peer reports

    // Delays
    double dead_zone = 0.4e-3;        ///< s: timers, interrupts, own bursts
    double dead_packets = 1.5;        ///< Lp: the packet in front and half of the own pair
    double newest = 2e-3;             ///< s of arrivals that count as now
    double smoothing_rtts = 0.25;     ///< time constant of qf
    double return_weight = 0.25;      ///< of a new sample of the return path's queue
    double long_part = 0.6;           ///< of the highest delay of 5 s is a long one
    double least_rough_full = 15e-3;  ///< s, the shortest full queue that a doubtful path can show

    // Jitter
    Duration most_apart = std::chrono::milliseconds(50);  ///< delays farther apart: a queue does not move along a line
    double mean_time = 50e-3;                             ///< s, time constant of m: jitter must not move it
    double most_mean_weight = 0.5;                        ///< of one delay in m: `low` sends few packets at first
    double distance_time = 0.1;                           ///< s, time constant of n
    double most_weight = 0.125;                           ///< of one distance in n
    double first_samples = 16.0;                          ///< before n counts
    double distances = 6.0;  ///< J in mean distances: uniform jitter adds at most four, in order eight
    double agree = 3.0;      ///< fastest over slowest train: a slower link or cross traffic changes them less
    double doubtful = 0.3;   ///< of the limit of J, if trains are irregular or do not agree
    Duration irregular_life = std::chrono::seconds(30);  ///< irregular trains come and go
    double clear = 2.0;                                  ///< of the limit of J, if trains tell the link rate
    double keep = 0.7;                                   ///< of that limit keeps a path rough
    Duration least_rough = std::chrono::seconds(5);      ///< time that a path stays rough
    double least_span = 0.1;                             ///< s of deliveries: 10 ms of jitter err a tenth of it
    double marks_per_span = 64.0;
    double more_found = 1.12;   ///< of what the last search found: there is more, so it starts again
    double search_queue = 2.0;  ///< q_h: such a queue ends the search

    // Losses
    double memory = 2.0;            ///< s, time constant of the counts
    double enough = 30.0;           ///< packets in a class before its ratio counts
    double overflow = 0.002;        ///< congestion loss: the highest delays are those of a full buffer
    double half_loss = 0.02;        ///< P_h: congestion loss that halves the share
    double loss_fades_from = 0.75;  ///< of the full queue: above, loss counts in full
    double loss_faded_at = 0.25;    ///< of the full queue: below, loss does not count
    double some_loss = 0.02;        ///< random loss that is worth a trial; congestion loss at which x is what arrives
    double much_loss = 0.04;        ///< congestion loss of a full link; at more, others ignore loss
    double recent = 0.25;           ///< s, half-life of the counts of recent packets: older losses start no trial
    double trial_time = 0.2;        ///< s of lowered rate, in addition to one RTT
    double fewer = 0.65;            ///< of the loss before: the lower rate made it less, so it was congestion
    double as_many = 0.8;           ///< of the loss before: the lower rate changed nothing
    double borne = 1.3;             ///< of a loss found random: up to here it is still the same
    double few_packets = 100.0;     ///< too few to judge a loss ratio
    double first_pause = 1.0;       ///< s until a trial; later ones wait four times that, twice as long each
    double longest_pause = 32.0;    ///< s
    Duration all_congestion =
        std::chrono::seconds(20);  ///< time after a trial that found congestion: every loss is congestion

    // Hosts slower than the link
    double usual_loss = 0.005;  ///< of the packets of a round trip or SYN: more means that a socket was full
    double deviations = 2.0;    ///< standard deviations by which the loss must exceed that
    double less = 0.7;          ///< factor of the room after it
    double more = 1.01;         ///< factor of the room after a round trip without
    double least_fit = 1.0 / 32.0;
    double ends_late = 3e-3;  ///< s that a thread waits for its turn, a slice of the scheduler

    // The window
    double ack_packets = 64.0;  ///< recovery::AckTracker::kPacketsPerAck
    double usual_hold = 1.2;    ///< usual intervals between ACKs
    double sparse_hold = 2.0;   ///< intervals: one of the few ACKs may be lost

    // Drains
    double drain_pace = 0.25;     ///< of x
    double same = 0.1;            ///< q_h between two delays, less than the noise: the first counts
    double margin = 2e-3;         ///< s of queue, added to the measured one
    double most_drain = 20e-3;    ///< s, at most, unless half a round trip is longer
    double claim_drain = 50e-3;   ///< s, the same beside competing flows: drains begin up to 10 ms apart
    double drain_interval = 2.0;  ///< s from the shortest queue to the next drain
    double alone_interval = 5.0;  ///< s, if no other flow needs to see the base: half of its life
    double drain_rtts = 4.0;      ///< the interval doubles until it is at least so many round trips
    double emptied = 0.5;         ///< of the queue before: at less, the drain succeeded
    int drains = 3;               ///< of the last four in vain, or in a row with success

    // Other flows
    double foreign_queue = 1.5;      ///< q_h, if competing flows are known to keep the queue
    double erratic = 4.0;            ///< q_h within a second: others have just started or ended
    double erratic_patience = 5.0;   ///< s
    double telling_packets = 200.0;  ///< packets after which MTR follows a slower link
    double telling_time = 1.5;       ///< s, at most: a flow starved by others sends few packets
    double competing_queue = 4.0;    ///< base RTTs: a longer queue may have another cause
    double hopeless = 2.0;           ///< s of queue: a share would wait as long in it
    double least_claim = 0.1;        ///< of C at the beginning: enough to show in the fall of the queue
    double bearable = 0.035;         ///< congestion loss beside others: at more, the claim is less
    double weight = 0.5;             ///< of a drain, least: the others' own changes make single drains err
    double most_loss = 0.5;          ///< congestion loss that is used to find what arrived at the queue
    Duration skew = kSynInterval;    ///< flows begin a drain with an ACK, so their drains differ by so much
};

inline constexpr UdtxConstants kUdtx;

}  // namespace udtx::congestion

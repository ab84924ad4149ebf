#include "batch/thread_pool.h"

#include <algorithm>

#if defined(__linux__)
#include <pthread.h>
#endif

namespace mario::batch {

namespace {

constexpr std::uint64_t one_index = std::uint64_t{1} << 32u;

unsigned index_of(std::uint64_t ticket) noexcept { return static_cast<unsigned>(ticket >> 32u); }
unsigned count_of(std::uint64_t ticket) noexcept { return static_cast<unsigned>(ticket); }

void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#else
    std::this_thread::yield();
#endif
}

/// Looks for some tens of microseconds before it sleeps: a batch is soon stepped again, and waking a thread takes longer than that.
void wait_while(const std::atomic<std::uint32_t>& number, std::uint32_t old) noexcept {
    constexpr unsigned num_looks = 1000;
    for (unsigned look = 0; look < num_looks; ++look) {
        if (number.load(std::memory_order_acquire) != old) return;
        relax();
    }
    number.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadPool::ThreadPool(unsigned num_threads) {
    if (num_threads == 0) num_threads = std::max(1u, std::thread::hardware_concurrency());
    threads_.reserve(num_threads - 1);
    try {
        for (unsigned thread = 1; thread < num_threads; ++thread) threads_.emplace_back([this, thread] { serve(thread); });
    } catch (...) {
        stop();
        throw;
    }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() noexcept {
    is_stopping_.store(true, std::memory_order_relaxed);
    num_ranges_.fetch_add(1, std::memory_order_release);
    num_ranges_.notify_all();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
}

bool ThreadPool::Range::has_indices() const noexcept {
    const std::uint64_t ticket = tickets.load(std::memory_order_relaxed);
    return index_of(ticket) < count_of(ticket);
}

void ThreadPool::run(Work work, void* context, unsigned count) noexcept {
    if (count == 0) return;
    Range* const range = threads_.empty() ? nullptr : take_range();
    if (!range) {
        for (unsigned index = 0; index < count; ++index) work(context, 0, index);
        return;
    }
    range->work = work;
    range->context = context;
    range->number.store(num_ranges_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    range->num_left.store(count, std::memory_order_relaxed);
    range->tickets.store(count, std::memory_order_release);
    num_ranges_.fetch_add(1, std::memory_order_release);
    num_ranges_.notify_all();
    take_indices(*range, 0);
    for (std::uint32_t left; (left = range->num_left.load(std::memory_order_acquire)) != 0;) wait_while(range->num_left, left);
    range->is_taken.store(false, std::memory_order_release);
}

void ThreadPool::serve(unsigned thread) noexcept {
#if defined(__linux__)
    pthread_setname_np(pthread_self(), "mario-console");
#endif
    for (std::uint32_t seen = 0;;) {
        wait_while(num_ranges_, seen);
        seen = num_ranges_.load(std::memory_order_acquire);
        if (is_stopping_.load(std::memory_order_relaxed)) return;
        while (Range* const range = oldest_with_indices()) take_indices(*range, thread);
    }
}

/// Done indices are counted off together: until then the range's caller waits, and nobody else can take the range.
void ThreadPool::take_indices(Range& range, unsigned thread) noexcept {
    std::uint32_t num_done = 0;
    while (range.has_indices()) {  // looking disturbs no other thread, taking does
        const std::uint64_t ticket = range.tickets.fetch_add(one_index, std::memory_order_acq_rel);
        if (index_of(ticket) >= count_of(ticket)) break;
        range.work(range.context, thread, index_of(ticket));
        ++num_done;
    }
    if (num_done == 0) return;
    if (range.num_left.fetch_sub(num_done, std::memory_order_acq_rel) == num_done) range.num_left.notify_one();
}

ThreadPool::Range* ThreadPool::take_range() noexcept {
    for (Range& range : ranges_) {
        if (!range.is_taken.exchange(true, std::memory_order_acquire)) return &range;
    }
    return nullptr;
}

/// One batch after the other, not all a little at a time: the first is acted for while the next is stepped.
ThreadPool::Range* ThreadPool::oldest_with_indices() noexcept {
    Range* oldest = nullptr;
    std::uint32_t number = 0;
    for (Range& range : ranges_) {
        if (!range.has_indices()) continue;
        const std::uint32_t its = range.number.load(std::memory_order_relaxed);
        if (!oldest || static_cast<std::int32_t>(its - number) < 0) oldest = &range, number = its;  // numbers may start over
    }
    return oldest;
}

}  // namespace mario::batch

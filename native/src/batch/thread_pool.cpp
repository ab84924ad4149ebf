#include "batch/thread_pool.h"

#include <algorithm>

#if defined(__linux__)
#include <pthread.h>
#endif

namespace mario::batch {

ThreadPool::ThreadPool(unsigned num_threads) {
    if (num_threads == 0) num_threads = std::max(1u, std::thread::hardware_concurrency());
    threads_.reserve(num_threads - 1);
    try {
        for (unsigned thread = 1; thread < num_threads; ++thread) {
            threads_.emplace_back([this, thread] { wait_for_work(thread); });
        }
    } catch (...) {
        stop();
        throw;
    }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() noexcept {
    is_stopping_.store(true, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
}

void ThreadPool::run(Work work, void* context, unsigned count) noexcept {
    work_ = work;
    context_ = context;
    count_ = count;
    next_.store(0, std::memory_order_relaxed);
    num_busy_.store(static_cast<std::uint32_t>(threads_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    if (!threads_.empty()) round_.notify_all();
    take_indices(0);
    for (std::uint32_t busy; (busy = num_busy_.load(std::memory_order_acquire)) != 0;) {
        num_busy_.wait(busy, std::memory_order_acquire);
    }
}

void ThreadPool::wait_for_work(unsigned thread) noexcept {
#if defined(__linux__)
    pthread_setname_np(pthread_self(), "mario-console");
#endif
    for (std::uint32_t seen = 0;;) {
        round_.wait(seen, std::memory_order_acquire);
        ++seen;  // a round ends only when every thread has seen it, so none is missed
        if (is_stopping_.load(std::memory_order_relaxed)) return;
        take_indices(thread);
        if (num_busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) num_busy_.notify_one();
    }
}

void ThreadPool::take_indices(unsigned thread) noexcept {
    for (;;) {
        const unsigned index = next_.fetch_add(1, std::memory_order_relaxed);
        if (index >= count_) return;
        work_(context_, thread, index);
    }
}

}  // namespace mario::batch

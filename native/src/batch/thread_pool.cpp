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
    if (count == 0) return;
    work_ = work;
    context_ = context;
    num_left_.store(count, std::memory_order_relaxed);
    tickets_.store(count, std::memory_order_release);
    round_.fetch_add(1, std::memory_order_release);
    if (!threads_.empty()) round_.notify_all();
    take_indices(0);
    for (std::uint32_t left; (left = num_left_.load(std::memory_order_acquire)) != 0;) {
        num_left_.wait(left, std::memory_order_acquire);
    }
}

void ThreadPool::wait_for_work(unsigned thread) noexcept {
#if defined(__linux__)
    pthread_setname_np(pthread_self(), "mario-console");
#endif
    for (std::uint32_t seen = 0;;) {
        round_.wait(seen, std::memory_order_acquire);
        seen = round_.load(std::memory_order_acquire);
        if (is_stopping_.load(std::memory_order_relaxed)) return;
        take_indices(thread);
    }
}

void ThreadPool::take_indices(unsigned thread) noexcept {
    constexpr std::uint64_t one_index = std::uint64_t{1} << 32u;
    for (;;) {
        const std::uint64_t ticket = tickets_.fetch_add(one_index, std::memory_order_acq_rel);
        const auto index = static_cast<unsigned>(ticket >> 32u), count = static_cast<unsigned>(ticket);
        if (index >= count) return;
        work_(context_, thread, index);
        if (num_left_.fetch_sub(1, std::memory_order_acq_rel) == 1) num_left_.notify_one();
    }
}

}  // namespace mario::batch

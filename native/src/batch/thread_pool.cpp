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
        for (unsigned thread = 1; thread < num_threads; ++thread) threads_.emplace_back([this, thread] { serve(thread); });
    } catch (...) {
        stop();
        throw;
    }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() noexcept {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
        is_worth_looking_.store(true, std::memory_order_relaxed);
    }
    has_work_.notify_all();
    for (auto& thread : threads_) thread.join();
    threads_.clear();
}

void ThreadPool::run(Work work, void* context, unsigned count) noexcept {
    if (threads_.empty()) {
        for (unsigned index = 0; index < count; ++index) work(context, 0, index);
        return;
    }
    if (count == 0) return;
    Range range{work, context, count};
    std::unique_lock lock(mutex_);
    append(range);
    lock.unlock();
    has_work_.notify_all();
    lock.lock();
    while (range.has_indices()) work_once(lock, range, 0);
    is_done_.wait(lock, [&range] { return range.is_done(); });
}

void ThreadPool::serve(unsigned thread) noexcept {
#if defined(__linux__)
    pthread_setname_np(pthread_self(), "mario-console");
#endif
    std::unique_lock lock(mutex_);
    for (;;) {
        if (!first_) look_for_work(lock);
        has_work_.wait(lock, [this] { return first_ || is_stopping_; });
        if (is_stopping_) return;
        work_once(lock, *first_, thread);
    }
}

/// For some microseconds: a small batch is soon stepped again, and waking a thread takes longer than looking.
void ThreadPool::look_for_work(std::unique_lock<std::mutex>& lock) noexcept {
    constexpr unsigned num_looks = 32;
    lock.unlock();
    for (unsigned look = 0; look < num_looks && !is_worth_looking_.load(std::memory_order_relaxed); ++look) std::this_thread::yield();
    lock.lock();
}

/// Takes one index and does its work, without the lock. Locking is cheap beside it: an index is a console's whole step.
void ThreadPool::work_once(std::unique_lock<std::mutex>& lock, Range& range, unsigned thread) noexcept {
    const unsigned index = range.next++;
    if (!range.has_indices()) remove(range);
    lock.unlock();
    range.work(range.context, thread, index);
    lock.lock();
    ++range.num_done;
    if (range.is_done()) is_done_.notify_all();  // under the lock: then its caller leaves, and the range with it
}

void ThreadPool::append(Range& range) noexcept {
    Range** end = &first_;
    while (*end) end = &(*end)->after;
    *end = &range;
    is_worth_looking_.store(true, std::memory_order_relaxed);
}

void ThreadPool::remove(const Range& range) noexcept {
    Range** place = &first_;
    while (*place != &range) place = &(*place)->after;
    *place = range.after;
    is_worth_looking_.store(first_ != nullptr, std::memory_order_relaxed);
}

}  // namespace mario::batch

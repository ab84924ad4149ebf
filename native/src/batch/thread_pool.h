// Threads that wait for work on a range of indices. The calling thread works too.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace mario::batch {

/// Owned and used by one thread; the work runs on all of them. Destruction wakes and joins every thread.
class ThreadPool {
public:
    /// One thread is the caller's, so one less is started; 0 means as many as the machine has.
    explicit ThreadPool(unsigned num_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] unsigned num_threads() const { return static_cast<unsigned>(threads_.size()) + 1; }

    /// Calls work(context, thread, index) once for every index below count, each on any thread; returns when all are done.
    /// The work must not throw. Nothing is allocated and no lock is taken.
    using Work = void (*)(void* context, unsigned thread, unsigned index) noexcept;
    void run(Work work, void* context, unsigned count) noexcept;

private:
    void wait_for_work(unsigned thread) noexcept;
    void take_indices(unsigned thread) noexcept;
    void stop() noexcept;

    Work work_ = nullptr;
    void* context_ = nullptr;
    unsigned count_ = 0;
    alignas(64) std::atomic<unsigned> next_{0};
    alignas(64) std::atomic<std::uint32_t> round_{0};    ///< raised to wake the threads
    alignas(64) std::atomic<std::uint32_t> num_busy_{0}; ///< threads that have not finished this round
    std::atomic<bool> is_stopping_{false};
    std::vector<std::thread> threads_;
};

}  // namespace mario::batch

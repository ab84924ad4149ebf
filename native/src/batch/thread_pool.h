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

    // Set by run() and read only by threads that hold an index: none does between two runs.
    Work work_ = nullptr;
    void* context_ = nullptr;
    /// The next index in the upper half and the count in the lower, so that a thread that wakes late gets no index of a run that
    /// is over, and nobody waits for it.
    alignas(64) std::atomic<std::uint64_t> tickets_{0};
    alignas(64) std::atomic<std::uint32_t> num_left_{0};  ///< indices whose work is not done
    alignas(64) std::atomic<std::uint32_t> round_{0};     ///< raised to wake the threads
    std::atomic<bool> is_stopping_{false};
    std::vector<std::thread> threads_;
};

}  // namespace mario::batch

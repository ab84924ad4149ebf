// Threads that wait for work on ranges of indices. The calling thread works too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace mario::batch {

/// Several callers may share one pool: whoever has no index left of one range goes on with the next, so that no core waits for the
/// slowest console of a batch while another batch has work. Destruction wakes and joins every thread.
class ThreadPool {
public:
    /// One thread is the caller's, so one less is started; 0 means as many as the machine has.
    explicit ThreadPool(unsigned num_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] unsigned num_threads() const { return static_cast<unsigned>(threads_.size()) + 1; }

    /// Calls work(context, thread, index) once for every index below count, each on any thread; returns when all are done.
    /// The caller is thread 0 and works on its own range only. The work must not throw. Nothing is allocated.
    using Work = void (*)(void* context, unsigned thread, unsigned index) noexcept;
    void run(Work work, void* context, unsigned count) noexcept;

private:
    /// A range that somebody waits for, on that caller's stack. All but the constants is under the mutex.
    struct Range {
        const Work work;
        void* const context;
        const unsigned count;
        unsigned next = 0;      ///< the first index that nobody has taken
        unsigned num_done = 0;  ///< indices whose work is done
        Range* after = nullptr;

        [[nodiscard]] bool has_indices() const { return next < count; }
        [[nodiscard]] bool is_done() const { return num_done == count; }
    };

    void serve(unsigned thread) noexcept;
    void look_for_work(std::unique_lock<std::mutex>& lock) noexcept;
    void work_once(std::unique_lock<std::mutex>& lock, Range& range, unsigned thread) noexcept;
    void append(Range& range) noexcept;
    void remove(const Range& range) noexcept;
    void stop() noexcept;

    std::mutex mutex_;
    std::condition_variable has_work_, is_done_;
    Range* first_ = nullptr;  ///< ranges with indices left, the oldest first
    bool is_stopping_ = false;
    std::atomic<bool> is_worth_looking_{false};  ///< a hint for threads that look before they sleep: there is something to do
    std::vector<std::thread> threads_;
};

}  // namespace mario::batch

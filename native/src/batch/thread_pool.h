// Threads that wait for work on ranges of indices. The calling thread works too.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace mario::batch {

/// Several callers may share one pool: whoever finds no index left of one range goes on with the next, so that no core waits for the
/// slowest console of a batch while another batch has work. No lock is taken: an index costs one atomic addition. Destruction wakes
/// and joins every thread.
class ThreadPool {
public:
    /// One thread is the caller's, so one less is started; 0 means as many as the machine has.
    explicit ThreadPool(unsigned num_threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] unsigned num_threads() const { return static_cast<unsigned>(threads_.size()) + 1; }

    /// Calls work(context, thread, index) once for every index below count, each on any thread; returns when all are done.
    /// The caller is thread 0 and works on its own range only; beyond `max_callers` at once, it works alone. The work must not throw.
    /// Nothing is allocated.
    using Work = void (*)(void* context, unsigned thread, unsigned index) noexcept;
    void run(Work work, void* context, unsigned count) noexcept;

    static constexpr unsigned max_callers = 8;

private:
    /// What a caller waits for. Its work and context are read by whoever holds a ticket, and written when no ticket is out.
    struct alignas(64) Range {
        std::atomic<bool> is_taken{false};
        std::atomic<std::uint32_t> number{0};  ///< the order in which ranges came
        Work work = nullptr;
        void* context = nullptr;
        alignas(64) std::atomic<std::uint64_t> tickets{0};   ///< upper half: the next index; lower half: how many there are
        alignas(64) std::atomic<std::uint32_t> num_left{0};  ///< indices whose work is not done

        [[nodiscard]] bool has_indices() const noexcept;
    };

    void serve(unsigned thread) noexcept;
    static void take_indices(Range& range, unsigned thread) noexcept;
    [[nodiscard]] Range* take_range() noexcept;
    [[nodiscard]] Range* oldest_with_indices() noexcept;
    void stop() noexcept;

    std::array<Range, max_callers> ranges_;
    alignas(64) std::atomic<std::uint32_t> num_ranges_{0};  ///< that ever came: what sleeping threads wait for
    std::atomic<bool> is_stopping_{false};
    std::vector<std::thread> threads_;
};

}  // namespace mario::batch

// Independent tasks over threads. Each task owns its data, so the answer does not depend on who runs it.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "interrupt.hpp"

namespace safdr {

// Calls worker(next) on each thread; worker takes task numbers from next() until it returns -1, and calls poll() where
// it takes long. What a worker throws (memory may run out, the user may give up) is thrown again here when all have
// ended.
template <class Worker>
void run_tasks(std::int64_t n_tasks, std::int64_t n_threads, Worker worker) {
  std::atomic<std::int64_t> counter{0};
  const auto next = [&counter, n_tasks]() -> std::int64_t {
    poll();
    const std::int64_t task = counter.fetch_add(1, std::memory_order_relaxed);
    return task < n_tasks ? task : -1;
  };
  const auto n_workers = static_cast<std::size_t>(std::max<std::int64_t>(1, std::min(n_threads, n_tasks)));
  std::vector<std::exception_ptr> thrown(n_workers);
  Watch watch;
  const auto guarded = [&](std::size_t i, auto&& what) noexcept {
    try {
      what();
    } catch (const Stopped&) {
      // Another one has the reason.
    } catch (...) {
      thrown[i] = std::current_exception();
      watch.stop();
    }
  };
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t n_ended = 0;
  std::vector<std::thread> helpers;
  helpers.reserve(n_workers);
  try {
    for (std::size_t i = 1; i < n_workers; ++i) {
      helpers.emplace_back([&, i] {
        watched = {&watch, false};
        guarded(i, [&] { worker(next); });
        const std::scoped_lock lock(mutex);
        ++n_ended;
        ended.notify_one();
      });
    }
  } catch (const std::system_error&) {
    // No more threads to be had: those there are do all the work.
  }
  watched = {&watch, true};
  guarded(0, [&] { worker(next); });
  for (std::unique_lock lock(mutex); n_ended < helpers.size();) {
    ended.wait_for(lock, Watch::kPatience);
    lock.unlock();
    // The others are still at work: the user may give up meanwhile.
    if (!thrown[0]) guarded(0, poll);
    lock.lock();
  }
  watched = {};
  for (std::thread& helper : helpers) helper.join();
  for (const std::exception_ptr& error : thrown) {
    if (error) std::rethrow_exception(error);
  }
}

// One task, which may call poll() as well.
template <class Task>
void run_task(Task task) {
  run_tasks(1, 1, [&](auto next) {
    next();
    task();
  });
}

// Of tasks that are taken in order, the first one to end a contest: those after it need not be done.
class Contest {
 public:
  bool over_before(std::int64_t task) const { return task > first_.load(std::memory_order_relaxed); }

  void end(std::int64_t task) {
    std::int64_t first = first_.load(std::memory_order_relaxed);
    while (task < first && !first_.compare_exchange_weak(first, task, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<std::int64_t> first_{std::numeric_limits<std::int64_t>::max()};
};

}  // namespace safdr

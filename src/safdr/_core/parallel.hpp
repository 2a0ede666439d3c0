// Independent tasks over threads. Each task owns its data, so the result does not depend on the thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "interrupt.hpp"

namespace safdr {

// Calls worker(next) on each thread; worker takes task numbers from next() until it returns -1, and where it takes long
// asks stopped(). Exceptions of a worker (out of memory) or of an interruption are thrown here
// when all have ended.
template <class Worker>
void run_tasks(std::int64_t n_tasks, std::int64_t n_threads, Worker worker) {
  std::atomic<std::int64_t> counter{0};
  const auto next = [&counter, n_tasks]() -> std::int64_t {
    const std::int64_t task = counter.fetch_add(1, std::memory_order_relaxed);
    return task < n_tasks && !stopped() ? task : -1;
  };
  const auto n_workers = static_cast<std::size_t>(std::max<std::int64_t>(1, std::min(n_threads, n_tasks)));
  Watch watch;
  std::vector<std::exception_ptr> thrown(n_workers);
  std::mutex mutex;
  std::condition_variable ended;
  std::size_t n_ended = 0;
  const auto work = [&](std::size_t i) noexcept {
    watched = {&watch, i == 0};
    try {
      worker(next);
    } catch (...) {
      thrown[i] = std::current_exception();
      watch.stop();
    }
    const std::scoped_lock lock(mutex);
    ++n_ended;
    ended.notify_one();
  };
  std::vector<std::thread> helpers;
  helpers.reserve(n_workers);
  try {
    for (std::size_t i = 1; i < n_workers; ++i) helpers.emplace_back(work, i);
  } catch (const std::exception&) {
    // No more threads, or no memory for them: the existing ones do all the work.
  }
  work(0);
  // While the others are still at work the caller may give up.
  for (std::unique_lock lock(mutex); n_ended <= helpers.size();) {
    ended.wait_for(lock, Watch::kPatience);
    lock.unlock();
    stopped();
    lock.lock();
  }
  watched = {};
  for (std::thread& helper : helpers) helper.join();
  if (watch.reason()) std::rethrow_exception(watch.reason());
  for (const std::exception_ptr& error : thrown) {
    if (error) std::rethrow_exception(error);
  }
}

// One task, which may ask stopped() as well.
template <class Task>
void run_task(Task task) {
  run_tasks(1, 1, [&](auto next) {
    next();
    task();
  });
}

}  // namespace safdr

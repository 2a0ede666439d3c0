// Independent tasks over threads. Each task owns its data, so the answer does not depend on who runs it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace safdr {

// Calls worker(next) on each thread; worker takes task numbers from next() until it returns -1.
template <class Worker>
void run_tasks(std::int64_t n_tasks, std::int64_t n_threads, Worker worker) {
  std::atomic<std::int64_t> counter{0};
  auto next = [&counter, n_tasks]() -> std::int64_t {
    const std::int64_t task = counter.fetch_add(1, std::memory_order_relaxed);
    return task < n_tasks ? task : -1;
  };
  std::vector<std::jthread> helpers;
  for (std::int64_t i = 1; i < std::min(n_threads, n_tasks); ++i) {
    helpers.emplace_back([&] { worker(next); });
  }
  worker(next);
}

}  // namespace safdr

// Long work looks up now and then whether it is still wanted.
#pragma once

#include <atomic>
#include <chrono>

namespace safdr {

// Thrown by threads that another one's error, or the user, has told to stop.
struct Stopped {};

// Throws where the work is not wanted any more. The boundary to Python sets it; none means that it always is.
inline std::atomic<void (*)()> ask_whether_to_go_on{nullptr};

// Shared by the threads of one call of the core. Only the one that called may ask; the others see what it was told.
class Watch {
 public:
  void stop() { stopped_.store(true, std::memory_order_relaxed); }

  void look(bool may_ask) {
    if (stopped_.load(std::memory_order_relaxed)) throw Stopped{};
    if (!may_ask) return;
    const auto now = std::chrono::steady_clock::now();
    if (now < due_) return;
    due_ = now + kPatience;
    if (void (*ask)() = ask_whether_to_go_on.load()) ask();
  }

  // Short against the second that a user waits, long against what it takes to get hold of Python.
  static constexpr std::chrono::milliseconds kPatience{100};

 private:
  std::atomic<bool> stopped_{false};
  std::chrono::steady_clock::time_point due_ = std::chrono::steady_clock::now() + kPatience;
};

// What the thread at hand is to look at, if anything.
struct Watched {
  Watch* watch = nullptr;
  bool may_ask = false;
};
inline thread_local Watched watched;

// Throws where the work is to stop. It takes some 30 ns: to be called some thousand times a second.
inline void poll() {
  if (watched.watch != nullptr) watched.watch->look(watched.may_ask);
}

}  // namespace safdr

#include "proof/explore.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include "aligned.hpp"
#include "chains/factor.hpp"
#include "chains/sweep.hpp"
#include "interrupt.hpp"
#include "parallel.hpp"
#include "proof/bounds.hpp"
#include "proof/elimination.hpp"

namespace safdr {
namespace {

using Clock = std::chrono::steady_clock;

// A node: the inverse and the coefficients of all its free features, and their matrices given those that are in.
struct Node {
  AlignedBuffer<double> memory;
  Symmetric inverse, schur;
  std::vector<std::int32_t> free;  // numbers among the free ones of the root
  double all = 0.0, value = 0.0, bound = 0.0;

  explicit Node(const Layout& layout)
      : memory(2 * layout.stride * (layout.stride + layout.n_columns)), inverse(part(layout, 0)),
        schur(part(layout, 1)) {}

  std::int64_t n_free() const { return inverse.size; }

 private:
  Symmetric part(const Layout& layout, std::int64_t which) {
    double* first = memory.data() + which * layout.stride * (layout.stride + layout.n_columns);
    return {first, first + layout.stride * layout.stride, 0};
  }
};

// Rows on cache-line boundaries.
Layout layout_of(const ProofRoot& root) { return {(root.n_free + 7) / 8 * 8, root.criterion.n_columns}; }

void copy_matrix(const Layout& layout, const double* entries, const double* columns, std::int64_t size, Symmetric& to) {
  for (std::int64_t i = 0; i < size; ++i) {
    std::copy_n(entries + i * size, i + 1, to.entries + i * layout.stride);
    for (std::int64_t column = 0; column < layout.n_columns; ++column) {
      to.columns[column * layout.stride + i] = columns[i * layout.n_columns + column];
    }
  }
  to.size = size;
}

class Explorer {
 public:
  Explorer(const ProofRoot& root, const ProofOptions& options, Clock::time_point end)
      : root_(root), options_(options), end_(end), layout_(layout_of(root)),
        factor_(options.size, options.size, root.criterion), losses_(root.n_free),
        row_(static_cast<std::size_t>(layout_.stride)), square_(row_.size()), gains_(row_.size()) {
    for (std::int64_t j = 0; j < root.n_free; ++j) cost_.push_back(root.cost[root.free[j]]);
  }

  ProofReport run(const std::int8_t* decisions, double bound) {
    report_ = {};
    report_.counts.assign(static_cast<std::size_t>(root_.criterion.n_features), 0);
    threshold_ = options_.threshold;
    chosen_.clear();
    ended_ = false;
    set_root(decisions);
    node_at(0).bound = bound;
    explore(0);
    report_.found = std::move(found_);
    found_.clear();
    return std::move(report_);
  }

 private:
  // ---- Nodes ----------------------------------------------------------------------------------

  Node& node_at(std::size_t depth) {
    while (nodes_.size() <= depth) nodes_.push_back(std::make_unique<Node>(layout_));
    return *nodes_[depth];
  }

  void set_root(const std::int8_t* decisions) {
    Node& node = node_at(0);
    copy_matrix(layout_, root_.inverse, root_.coefficients, root_.n_free, node.inverse);
    copy_matrix(layout_, root_.schur, root_.rest, root_.n_free, node.schur);
    node.free.resize(static_cast<std::size_t>(root_.n_free));
    for (std::size_t j = 0; j < node.free.size(); ++j) node.free[j] = static_cast<std::int32_t>(j);
    node.all = root_.all;
    node.value = root_.value;
    for (std::int64_t j = root_.n_free - 1; j >= 0; --j) {
      if (decisions[j] < 0) exclude(node, j);
    }
    // Those in conflict with one that is in are out already.
    for (std::int64_t j = node.n_free() - 1; j >= 0; --j) {
      if (decisions[node.free[static_cast<std::size_t>(j)]] > 0) include(node, j, node);
    }
  }

  void exclude(Node& node, std::int64_t j) {
    node.all += cost_of(node, j) - take_out(layout_, node.inverse, j, row_.data(), node.inverse);
    leave_out(layout_, node.schur, j, node.schur);
    node.free.erase(node.free.begin() + j);
  }

  // `to` may be the node itself.
  void include(const Node& from, std::int64_t j, Node& to) {
    leave_out(layout_, from.inverse, j, to.inverse);
    to.value = from.value - cost_of(from, j) + take_out(layout_, from.schur, j, row_.data(), to.schur);
    to.all = from.all;
    to.bound = from.bound;
    const std::int32_t feature = from.free[static_cast<std::size_t>(j)];
    if (&to != &from) to.free = from.free;
    to.free.erase(to.free.begin() + j);
    chosen_.push_back(feature);
    if (root_.conflicts != nullptr) exclude_conflicting(to, root_.conflicts + feature * root_.n_free);
  }

  void exclude_conflicting(Node& node, const std::uint8_t* conflicts) {
    for (std::int64_t j = node.n_free() - 1; j >= 0; --j) {
      if (conflicts[node.free[static_cast<std::size_t>(j)]]) exclude(node, j);
    }
  }

  double cost_of(const Node& node, std::int64_t j) const {
    return cost_[static_cast<std::size_t>(node.free[static_cast<std::size_t>(j)])];
  }

  std::int64_t n_missing() const {
    return options_.size - root_.n_included - static_cast<std::int64_t>(chosen_.size());
  }

  // ---- The search -----------------------------------------------------------------------------

  bool hopeless(double bound) const { return bound + options_.slack <= threshold_; }

  // What is below the node at this depth, which it uses up. First with the feature whose losses are the largest, then
  // without.
  void explore(std::size_t depth) {
    Node& node = node_at(depth);
    const std::size_t n_chosen = chosen_.size();
    while (!ended_) {
      if (is_over()) {
        ended_ = true;
        leave_open(node, -1);
        break;
      }
      const std::int64_t j = settle(node);
      if (j < 0) break;
      const double bound = std::min(node.bound, node.all - losses_.least_with(j));
      const std::size_t n_before = chosen_.size();
      include(node, j, node_at(depth + 1));
      explore(depth + 1);
      chosen_.resize(n_before);
      node.bound = bound;
      if (ended_) {
        if (!hopeless(bound)) leave_open(node, j);
      } else if (hopeless(bound)) {
        break;
      } else {
        exclude(node, j);
      }
    }
    chosen_.resize(n_chosen);
  }

  bool is_over() {
    ++report_.n_steps;
    if (report_.n_steps > options_.n_steps) return true;
    return (report_.n_steps & 63) == 1 && (stopped() || Clock::now() >= end_);
  }

  // Fixes features by the bounds. Returns a feature to branch on, or -1 if the node is complete.
  std::int64_t settle(Node& node) {
    while (true) {
      const std::int64_t n_free = node.n_free(), n_missing = this->n_missing();
      if (n_missing < 0 || n_free < n_missing) return -1;
      if (n_missing == 0 || n_free == n_missing) {
        offer(node, n_free == n_missing ? n_free : 0);
        return -1;
      }
      losses_.find(layout_, node.inverse, node.free.data(), root_.delta, root_.priced ? cost_.data() : nullptr,
                   n_free - n_missing);
      node.bound = std::min(node.bound, node.all - losses_.least());
      if (hopeless(node.bound)) return -1;
      if (n_missing <= 2) {
        n_missing == 1 ? try_singles(node) : try_pairs(node);
        return -1;
      }
      if (!fix(node)) return costliest();
    }
  }

  std::int64_t costliest() const {
    std::int64_t best = 0;
    for (std::int64_t j = 1; j < losses_.size(); ++j) {
      if (losses_.both(j) > losses_.both(best)) best = j;
    }
    return best;
  }

  // Excludes features of no better subset, and includes those of every one. Returns true if there were any.
  bool fix(Node& node) {
    out_.clear();
    in_.clear();
    for (std::int64_t j = 0; j < node.n_free(); ++j) {
      const std::int32_t feature = node.free[static_cast<std::size_t>(j)];
      if (hopeless(node.all - losses_.least_without(j))) {
        out_.push_back(feature);
      } else if (hopeless(node.all - losses_.least_with(j))) {
        in_.push_back(feature);
      }
    }
    for (const std::int32_t feature : out_) exclude(node, place(node, feature));
    for (const std::int32_t feature : in_) {
      const std::int64_t j = place(node, feature);
      // Where one that must be in is out by a conflict with another, nothing is left here.
      if (j < 0) {
        while (node.n_free() > 0) exclude(node, node.n_free() - 1);
        return true;
      }
      include(node, j, node);
    }
    return !out_.empty() || !in_.empty();
  }

  static std::int64_t place(const Node& node, std::int32_t feature) {
    const auto at = std::lower_bound(node.free.begin(), node.free.end(), feature);
    return at != node.free.end() && *at == feature ? at - node.free.begin() : -1;
  }

  // ---- Leaves ---------------------------------------------------------------------------------

  void try_singles(const Node& node) {
    find_squares(node);
    for (std::int64_t a = 0; a < node.n_free(); ++a) {
      const double gain = square_[static_cast<std::size_t>(a)] / node.schur.entries[a * layout_.stride + a];
      if (!hopeless(node.value - cost_of(node, a) + gain)) offer_with(node, {a});
    }
  }

  void try_pairs(const Node& node) {
    find_squares(node);
    for (std::int64_t a = 1; a < node.n_free(); ++a) {
      pair_gains(layout_, node.schur, square_.data(), a, row_.data(), gains_.data());
      const double value = node.value - cost_of(node, a);
      for (std::int64_t b = 0; b < a; ++b) {
        if (hopeless(value - cost_of(node, b) + gains_[static_cast<std::size_t>(b)])) continue;
        if (!in_conflict(node, a, b)) offer_with(node, {a, b});
      }
    }
  }

  bool in_conflict(const Node& node, std::int64_t a, std::int64_t b) const {
    const std::int64_t first = node.free[static_cast<std::size_t>(a)], second = node.free[static_cast<std::size_t>(b)];
    return root_.conflicts != nullptr && root_.conflicts[first * root_.n_free + second];
  }

  void find_squares(const Node& node) {
    std::fill(square_.begin(), square_.end(), 0.0);
    for (std::int64_t column = 0; column < layout_.n_columns; ++column) {
      const double* values = node.schur.columns + column * layout_.stride;
      for (std::int64_t j = 0; j < node.n_free(); ++j) square_[static_cast<std::size_t>(j)] += values[j] * values[j];
    }
  }

  void offer_with(const Node& node, std::initializer_list<std::int64_t> others) {
    for (const std::int64_t j : others) chosen_.push_back(node.free[static_cast<std::size_t>(j)]);
    judge_chosen();
    chosen_.resize(chosen_.size() - others.size());
  }

  // The chosen features and the first of the free ones.
  void offer(const Node& node, std::int64_t n_more) {
    const std::size_t n_chosen = chosen_.size();
    bool allowed = true;
    for (std::int64_t a = 0; a < n_more && allowed; ++a) {
      for (std::int64_t b = 0; b < a && allowed; ++b) allowed = !in_conflict(node, a, b);
    }
    if (!allowed) return;
    chosen_.insert(chosen_.end(), node.free.begin(), node.free.begin() + n_more);
    judge_chosen();
    chosen_.resize(n_chosen);
  }

  void judge_chosen() {
    std::vector<std::int32_t>& subset = candidate_.subset;
    subset.assign(root_.included, root_.included + root_.n_included);
    for (const std::int32_t j : chosen_) subset.push_back(root_.free[j]);
    std::sort(subset.begin(), subset.end());
    pack_values(factor_, subset.data(), 1, options_.size, &candidate_.value);
    for (const std::int32_t j : subset) candidate_.value -= root_.cost[j];
    if (candidate_.value > threshold_) keep_candidate();
  }

  // A heap whose top is the worst.
  void keep_candidate() {
    ++report_.n_found;
    for (const std::int32_t feature : candidate_.subset) ++report_.counts[static_cast<std::size_t>(feature)];
    if (static_cast<std::int64_t>(found_.size()) == options_.at_most) {
      if (found_.empty() || !(candidate_ < found_.front())) return;
      std::pop_heap(found_.begin(), found_.end());
      found_.pop_back();
    }
    found_.push_back(candidate_);
    std::push_heap(found_.begin(), found_.end());
    if (options_.improve && static_cast<std::int64_t>(found_.size()) == options_.at_most) {
      threshold_ = found_.front().value;
    }
  }

  // ---- What is left ---------------------------------------------------------------------------

  // The node, without a feature that it still has (or -1).
  void leave_open(const Node& node, std::int64_t j) {
    Decisions decisions(static_cast<std::size_t>(root_.n_free), -1);
    for (const std::int32_t feature : chosen_) decisions[static_cast<std::size_t>(feature)] = 1;
    for (const std::int32_t feature : node.free) decisions[static_cast<std::size_t>(feature)] = 0;
    if (j >= 0) decisions[static_cast<std::size_t>(node.free[static_cast<std::size_t>(j)])] = -1;
    report_.open.push_back(std::move(decisions));
    // All of its features together are a bound only where they cost nothing.
    report_.bounds.push_back(root_.priced ? node.bound : std::min(node.bound, node.all));
  }

  const ProofRoot& root_;
  const ProofOptions& options_;
  const Clock::time_point end_;
  const Layout layout_;
  Factor factor_;
  Losses losses_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::int32_t> chosen_, in_, out_;  // numbers among the free ones of the root
  std::vector<double> row_, square_, gains_, cost_;
  std::vector<FoundSubset> found_;
  FoundSubset candidate_{};
  ProofReport report_;
  double threshold_ = 0.0;
  bool ended_ = false;
};

}  // namespace

std::vector<ProofReport> explore(const ProofRoot& root, const std::int8_t* nodes, const double* bounds,
                                 std::int64_t n_nodes, const ProofOptions& options) {
  // Longer than anyone waits, and short enough to be counted in nanoseconds.
  const double seconds = std::clamp(options.seconds, 0.0, 1e8);
  const Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  std::vector<ProofReport> reports(static_cast<std::size_t>(n_nodes));
  run_tasks(n_nodes, options.n_threads, [&](auto next) {
    Explorer explorer(root, options, end);
    for (std::int64_t task = next(); task >= 0; task = next()) {
      reports[static_cast<std::size_t>(task)] = explorer.run(nodes + task * root.n_free, bounds[task]);
    }
  });
  return reports;
}

}  // namespace safdr

// Which candidates a climb need not look at: those of which O(k) numbers say that they raise J for no member. With
// P = A_SS^-1 = diag(p) + E, x = A_Sj and r = D_j - x'w, candidate j comes in for the member at a with
//     g_a = p_a x_a + E_a x          so |g_a| <= p_a |x_a| + |E_a| |x|
//     r' = r + w_a g_a / p_a         what the other members leave of D_j
//     c' >= A_jj - x'P x             and of A_jj, where x'P x <= sum_l p_l x_l^2 + |E| |x|^2
// and raises J by |r'|^2 / c' - |w_a|^2 / p_a. Where features have little to do with each other that leaves few to look
// at; where they have much, it says nothing of c', and leaves them all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "aligned.hpp"
#include "chains/subset_pack.hpp"

namespace safdr {

// The bounds are of the numbers that the state holds. What a look finds may be beyond them by rounding alone: by some k
// units in the last place of the same sums, with all terms taken as positive.
constexpr double kScreenMargin = 1e-9;

class SwapScreen {
 public:
  SwapScreen(const Criterion& criterion, std::int64_t size, std::int64_t n_fixed)
      : criterion_(criterion), size_(size), n_fixed_(n_fixed), n_blocks_((criterion.n_features + kBlock - 1) / kBlock),
        others_(size), members_(kPackSize * size * (kW + criterion.n_columns)), own_(criterion.n_features),
        may_(static_cast<std::size_t>(kPackSize * n_blocks_)) {
    for (std::int64_t j = 0; j < criterion.n_features; ++j) {
      own_.data()[j] = criterion.A[j * (criterion.n_features + 1)];
    }
  }

  // Takes in the state of the four subsets, of which some have changed. For a member to go, a candidate must add more
  // than `gained` to J; inverse_p is one over its place on the diagonal of P.
  SAFDR_INLINE void renew(const SubsetPack& state, const Flags& changed, const Doubles* gained,
                          const Doubles* inverse_p) {
    square_others(state);
    all_others_ = all_w_ = constant(0.0);
    for (std::int64_t a = 0; a < size_; ++a) {
      const Doubles others = others_.data()[a], lost = state.loss(a), its_w = square_root(lost);
      all_others_ += others;
      all_w_ += lost;
      const Doubles through_others = square_root(others) * its_w * absolute(inverse_p[a]);
      // Not a number where rounding has made the diagonal of P negative: then no candidate is ruled out.
      const Doubles least = square_root(gained[a]) * (1.0 - kScreenMargin);
      for (int n = 0; n < kPackSize; ++n) {
        double* member = member_of(n, a);
        member[kP] = 1.0 / std::fabs(inverse_p[a][n]);
        member[kItsW] = its_w[n];
        member[kThroughOthers] = through_others[n];
        member[kLeast] = least[n];
        for (std::int64_t col = 0; col < state.n_columns; ++col) member[kW + col] = state.w[col * size_ + a][n];
      }
    }
    all_others_ = square_root(all_others_);
    all_w_ = square_root(all_w_);
    for (int n = 0; n < kPackSize; ++n) {
      if (changed[n]) std::fill_n(may_.begin() + n * n_blocks_, n_blocks_, kUnknown);
    }
  }

  // Whether feature j may raise J of subset n, whose members come first in `order`.
  SAFDR_INLINE bool may_rise(int n, const std::int32_t* order, std::int64_t j) {
    const std::int64_t block = j / kBlock, first = std::min(block * kBlock, criterion_.n_features - kBlock);
    if (first < 0) return true;
    std::uint32_t& may = may_[static_cast<std::size_t>(n * n_blocks_ + block)];
    if (may == kUnknown) may = screen(n, order, first);
    return ((may >> (j - first)) & 1) != 0;
  }

  // Counts candidates, and those that are ruled out for all four.
  SAFDR_INLINE bool note(bool ruled_out) {
    ++n_asked_;
    n_ruled_out_ += ruled_out;
    return ruled_out;
  }

  // To screen candidates takes a third of what it takes to look at them.
  bool is_worth_it() const { return 3 * n_ruled_out_ >= n_asked_; }

 private:
  // Neighbours that are screened together, when the first of them is asked for: two or three cache lines of a member's
  // row.
  static constexpr int kPacks = 4;
  static constexpr std::int64_t kBlock = kPacks * kPackSize;
  static constexpr std::uint32_t kUnknown = ~std::uint32_t{0};
  // What is kept of a member: p_a, |w_a|, |E_a| |w_a| / p_a, the root of what is to be gained for it, and w_a.
  static constexpr std::int64_t kP = 0, kItsW = 1, kThroughOthers = 2, kLeast = 3, kW = 4;

  // Numbers of neighbours: here a pack holds four features, not four subsets.
  typedef Doubles Block[kPacks];

  SAFDR_INLINE double* member_of(int n, std::int64_t a) {
    return members_.data() + (n * size_ + a) * (kW + criterion_.n_columns);
  }

  static SAFDR_INLINE Doubles load(const double* from) {
    return gather([&](int i) { return from[i]; });
  }

  // |E_a|^2 of each member.
  SAFDR_INLINE void square_others(const SubsetPack& state) {
    Doubles* others = others_.data();
    const Doubles* row = state.P;
    for (std::int64_t a = 0; a < size_; row += ++a) {
      others[a] = constant(0.0);
      for (std::int64_t l = 0; l < a; ++l) {
        const Doubles square = row[l] * row[l];
        others[a] += square;
        others[l] += square;
      }
    }
  }

  // One bit for each of the features from `first` on.
  SAFDR_INLINE std::uint32_t screen(int n, const std::int32_t* order, std::int64_t first) {
    Block length, root, most;
    measure(n, order, first, length, root);
    bound_r(n, order, first, length, most);
    Flags out[kPacks];
    each<kPacks>([&](auto i) SAFDR_INLINE_LAMBDA { out[i] = broadcast<std::int64_t>(-1); });
    for (std::int64_t a = n_fixed_; a < size_; ++a) {
      const double *row = criterion_.A + order[a] * criterion_.n_features + first, *member = member_of(n, a);
      const Doubles its_w = constant(member[kItsW]), through_others = constant(member[kThroughOthers]);
      const Doubles least = constant(member[kLeast]);
      each<kPacks>([&](auto i) SAFDR_INLINE_LAMBDA {
        const Doubles x = absolute(load(row + i * kPackSize));
        out[i] = out[i] & (most[i] + x * its_w + length[i] * through_others <= least * root[i]);
      });
    }
    std::uint32_t may = 0;
    for (int i = 0; i < kBlock; ++i) may |= std::uint32_t{out[i / kPackSize][i % kPackSize] == 0} << i;
    return may;
  }

  // |x|, and the root of the least that c' may be: not a number where it may be nothing.
  SAFDR_INLINE void measure(int n, const std::int32_t* order, std::int64_t first, Block& length, Block& root) {
    Block inside;
    each<kPacks>([&](auto i) SAFDR_INLINE_LAMBDA { length[i] = inside[i] = constant(0.0); });
    for (std::int64_t l = 0; l < size_; ++l) {
      const double* row = criterion_.A + order[l] * criterion_.n_features + first;
      const Doubles p = constant(member_of(n, l)[kP]);
      each<kPacks>([&](auto i) SAFDR_INLINE_LAMBDA {
        const Doubles x = load(row + i * kPackSize), square = x * x;
        length[i] += square;
        inside[i] += p * square;
      });
    }
    const Doubles others = constant(all_others_[n]);
    each<kPacks>([&](auto i) SAFDR_INLINE_LAMBDA {
      const Doubles own = load(own_.data() + first + i * kPackSize), taken = inside[i] + others * length[i];
      root[i] = square_root((1.0 - kScreenMargin) * own - (1.0 + kScreenMargin) * taken);
      length[i] = square_root(length[i]);
    });
  }

  // The most that |r| may be.
  SAFDR_INLINE void bound_r(int n, const std::int32_t* order, std::int64_t first, const Block& length, Block& most) {
    const std::int64_t n_columns = criterion_.n_columns;
    const double* D = criterion_.D + first * n_columns;
    Block of_D;
    each<kPacks>([&](auto i) SAFDR_INLINE_LAMBDA { most[i] = of_D[i] = constant(0.0); });
    for (std::int64_t col = 0; col < n_columns; ++col) {
      Block r;
      each<kPacks>([&](auto i) SAFDR_INLINE_LAMBDA {
        r[i] = gather([&](int at) { return D[(i * kPackSize + at) * n_columns + col]; });
        of_D[i] += r[i] * r[i];
      });
      for (std::int64_t l = 0; l < size_; ++l) {
        const double* row = criterion_.A + order[l] * criterion_.n_features + first;
        const Doubles w = constant(member_of(n, l)[kW + col]);
        each<kPacks>([&](auto i) SAFDR_INLINE_LAMBDA { r[i] -= load(row + i * kPackSize) * w; });
      }
      each<kPacks>([&](auto i) SAFDR_INLINE_LAMBDA { most[i] += r[i] * r[i]; });
    }
    const Doubles w = constant(all_w_[n]);
    each<kPacks>([&](auto i) SAFDR_INLINE_LAMBDA {
      most[i] = square_root(most[i]) + kScreenMargin * (square_root(of_D[i]) + w * length[i]);
    });
  }

  Criterion criterion_;
  std::int64_t size_, n_fixed_, n_blocks_;
  AlignedBuffer<Doubles> others_;
  AlignedBuffer<double> members_, own_;
  Doubles all_others_{}, all_w_{};  // |E| and |w|
  std::vector<std::uint32_t> may_;
  std::int64_t n_asked_ = 0, n_ruled_out_ = 0;
};

}  // namespace safdr

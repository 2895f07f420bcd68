#include "training/order.hpp"

#include "trainers/torch_doctest.hpp"

namespace hpcbench::train {

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers numbers_of(const at::Tensor& tensor) {
  const auto* first = tensor.const_data_ptr<std::int64_t>();
  return {first, first + tensor.numel()};
}

Numbers share_numbers(const EpochPlan& plan, std::int64_t step, std::int64_t micro, int rank) {
  return numbers_of(plan.share(step, micro, rank).samples);
}

}  // namespace

TEST_CASE("the order of an epoch is a permutation of the seed and the epoch") {
  const at::Tensor all = epoch_order(10, 1, 1, true);
  CHECK(at::equal(std::get<0>(at::sort(all)), at::arange(10, at::kLong)));
  CHECK_FALSE(at::equal(all, epoch_order(10, 1, 2, true)));
  CHECK(at::equal(epoch_order(10, 2, 1, true), epoch_order(10, 1, 2, true)));  // seed + epoch
  CHECK(at::equal(epoch_order(4, 9, 1, false), at::arange(4, at::kLong)));
}

TEST_CASE("strided: ranks take turns, the order is repeated to a multiple of the world size") {
  const EpochPlan plan({3, 2, 1}, epoch_order(10, 1, 1, false));  // 12 samples: blocks of 6
  CHECK(plan.steps() == 2);
  CHECK(plan.least_part(1) == 2);
  CHECK(share_numbers(plan, 0, 0, 0) == Numbers{0, 3});
  CHECK(share_numbers(plan, 0, 0, 2) == Numbers{2, 5});
  CHECK(share_numbers(plan, 1, 0, 1) == Numbers{7, 0});  // 6 7 8 9 0 1
  CHECK(numbers_of(plan.step_samples(1)) == Numbers{6, 7, 8, 9, 0, 1});
  const Share share = plan.share(1, 0, 1);
  CHECK(share.first_position == 1);
  CHECK(share.stride == 3);
  const EpochPlan uneven({3, 2, 1}, epoch_order(13, 1, 1, false));  // 15: the last block has 3
  CHECK(uneven.steps() == 3);
  CHECK(uneven.least_part(1) == 1);
  CHECK(share_numbers(uneven, 2, 0, 2) == Numbers{1});
  CHECK(share_numbers(EpochPlan({5, 1, 1}, epoch_order(2, 1, 1, false)), 0, 0, 4) == Numbers{0});  // 0 1 0 1 0
}

TEST_CASE("the smallest part of a device: of whole batches and of the last one, cut as by torch.chunk") {
  const auto least = [](std::int64_t batch, std::int64_t samples, std::int64_t devices) {
    return EpochPlan({1, batch, 1}, samples).least_part(devices);
  };
  CHECK(least(10, 20, 3) == 2);  // 4 4 2
  CHECK(least(10, 13, 3) == 1);  // 4 4 2, then 1 1 1
  CHECK(least(9, 18, 4) == 3);   // 3 3 3: the fourth has none
  CHECK(least(9, 20, 2) == 1);   // 5 4, then 1 1
  CHECK(least(7, 14, 3) == 1);   // 3 3 1
  CHECK(least(64, 13, 2) == 6);  // 7 6: there is no whole batch
}

TEST_CASE("micro-batches: positions count through the step, the last step may have fewer") {
  const EpochPlan plan({2, 2, 2}, epoch_order(12, 1, 1, false));  // blocks of 4, 3 of them
  CHECK(plan.steps() == 2);
  CHECK(plan.micro_batches(0) == 2);
  CHECK(plan.micro_batches(1) == 1);
  CHECK(share_numbers(plan, 0, 1, 1) == Numbers{5, 7});
  CHECK(plan.share(0, 1, 1).first_position == 5);
  CHECK(share_numbers(plan, 1, 0, 0) == Numbers{8, 10});
  CHECK(numbers_of(plan.step_samples(0)).size() == 8);
}

TEST_CASE("batches: whole batches by turns, the last ones filled up from the start, but not for one rank") {
  const EpochPlan plan({2, 3, 1, Order::batches}, epoch_order(8, 1, 1, false));  // 12 = 2 blocks of 6
  CHECK(share_numbers(plan, 0, 0, 0) == Numbers{0, 1, 2});
  CHECK(share_numbers(plan, 0, 0, 1) == Numbers{3, 4, 5});
  CHECK(share_numbers(plan, 1, 0, 0) == Numbers{6, 7, 0});
  CHECK(share_numbers(plan, 1, 0, 1) == Numbers{1, 2, 3});
  CHECK(plan.share(1, 0, 1).first_position == 3);
  CHECK(plan.share(1, 0, 1).stride == 1);
  const EpochPlan alone({1, 3, 1, Order::batches}, epoch_order(8, 1, 1, false));
  CHECK(share_numbers(alone, 2, 0, 0) == Numbers{6, 7});
}

TEST_CASE("grouped by length as at Hugging Face: sorted blocks, the longest first") {
  const std::vector<std::int32_t> lengths = {5, 9, 2, 7, 4, 8, 1, 3, 6, 10, 11, 12, 13, 14, 15, 16, 17};
  // 17 samples, batches of 2: blocks of min(17 / 8, 50) = 2 batches, 4 samples.
  const Numbers plain = numbers_of(epoch_order(17, 3, 1, true));
  Numbers grouped = numbers_of(grouped_order(lengths, 2, 3, 1));
  const auto length_of = [&](std::int64_t sample) { return lengths[static_cast<std::size_t>(sample)]; };
  CHECK(length_of(grouped.front()) == 17);
  // Back where it came from, every block is a sorted block of the permutation.
  Numbers expected = plain;
  for (std::size_t begin = 0; begin < 17; begin += 4)
    std::sort(expected.begin() + static_cast<std::ptrdiff_t>(begin),
              expected.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(17, begin + 4)),
              [&](auto a, auto b) { return length_of(a) > length_of(b); });
  const auto longest = std::find(expected.begin(), expected.end(), 16);
  std::swap(*longest, expected.front());
  CHECK(grouped == expected);
  CHECK(numbers_of(grouped_order(lengths, 2, 3, 1)) == grouped);
}

}  // namespace hpcbench::train

#include "tools/runtime/suspects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/device/model_runner.hpp"
#include "core/process/standard_error.hpp"
#include "core/stage_error.hpp"
#include "core/text/wording.hpp"
#include "tools/runtime/driver_team.hpp"

namespace sluice {
namespace {

std::string numbers(const std::vector<std::uint64_t>& items) {
    return fmt::format("item{} {}", items.size() == 1 ? "" : "s", first_of(items));
}

/// A separate device, with a model.
class LoneDevice {
public:
    LoneDevice(const PreparedRank& rank, const JobPlan& plan)
        : device_(make_device(plan.device, device_number(rank.share.place.devices, rank.share.gpus, 0))),
          model_(rank.app->make_model(
              *device_, {.most_items = plan.chunk_items, .device_bytes = rank.app->least_room(plan.chunk_items)})) {
        if (!rank.sample.empty()) {
            model_->calibrate(*device_->make_stream({}), std::as_bytes(std::span(rank.sample)));
        }
        runner_.emplace(*device_, *model_, plan.chunk_items);
    }

    /// Outputs of at most a chunk of items; valid until the next call.
    [[nodiscard]] std::span<const std::byte> compute(std::span<const std::byte> items) { return runner_->run(items); }

private:
    std::unique_ptr<Device> device_;
    std::unique_ptr<Model> model_;
    std::optional<ModelRunner> runner_;
};

class Suspects {
public:
    Suspects(const RankContext& context, const PreparedJob& job, const OpenAttempt& attempt, const PreparedRank& rank)
        : context_(context),
          job_(job),
          attempt_(attempt),
          shape_(rank.wire.item),
          device_(rank, job.plan),
          ranges_(attempt.folder),
          activity_(context.activities.add(ActivityKind::device, "device for suspected chunks")) {}

    ~Suspects() {
        activity_.end();
        context_.board.mine().chunk.store(RankEntry::no_chunk);
    }
    Suspects(const Suspects&) = delete;
    Suspects& operator=(const Suspects&) = delete;

    /// The outputs of chunk `id`.
    std::vector<std::byte> compute(std::uint64_t id) {
        const Chunk chunk = job_.plan.grid().at(id);
        std::vector<std::byte> items(std::size_t{chunk.count} * shape_.input_bytes);
        std::vector<std::byte> outputs(std::size_t{chunk.count} * shape_.output_bytes);
        job_.source->read(chunk.first, chunk.count, items);
        context_.board.mine().stage.store(Stage::compute);
        context_.board.mine().chunk.store(id);
        const auto deadly = [&](const ItemRange& range) { return is_deadly(range, attempt_.earlier); };
        const auto compute = [&](const ItemRange& range) {
            const std::size_t at = range.first - chunk.first;
            activity_.work(Stage::compute, id);
            ranges_.begin(range);
            const auto of_range = compute_range(id, range, std::span(items).subspan(at * shape_.input_bytes));
            std::ranges::copy(of_range, std::span(outputs).subspan(at * shape_.output_bytes).begin());
            ranges_.end(range);
        };
        for (const std::uint64_t item : compute_in_halves(chunk, deadly, compute)) {
            job_.codec->write_missing(
                std::span(outputs).subspan((item - chunk.first) * shape_.output_bytes, shape_.output_bytes));
            failed_.push_back(item);
        }
        return outputs;
    }

    /// Items without a result in what was computed.
    [[nodiscard]] const std::vector<std::uint64_t>& failed() const noexcept { return failed_; }

private:
    /// The outputs of the items of `range`, a part of chunk `id`, which are the first ones at `items`.
    std::span<const std::byte> compute_range(std::uint64_t id, const ItemRange& range,
                                             std::span<const std::byte> items) {
        try {
            return device_.compute(items.first(std::size_t{range.count} * shape_.input_bytes));
        } catch (...) {
            throw StageError(Stage::compute, {.id = id, .first = range.first, .count = range.count},
                             std::current_exception());
        }
    }

    const RankContext& context_;
    const PreparedJob& job_;
    const OpenAttempt& attempt_;
    IoShape shape_;
    LoneDevice device_;
    LoneRanges ranges_;
    Activity& activity_;
    std::vector<std::uint64_t> failed_;
};

[[noreturn]] void refuse(const PreparedJob& job, const std::vector<std::uint64_t>& failed, std::size_t before) {
    throw Error(
        ExitCode::no_progress,
        {.id = "E-RUN-093",
         .where = numbers(failed),
         .what = fmt::format("crashed every attempt that computed it, the last one alone with it (got {} such "
                             "items, expected {} at most)",
                             failed.size() + before, job.job.fault.max_failed_items),
         .hint = fmt::format("check it; fault.max_failed_items = {} leaves it out; --retry forgets what happened",
                             failed.size() + before)});
}

}  // namespace

std::vector<std::uint64_t> compute_in_halves(const Chunk& chunk, FunctionRef<bool(const ItemRange&)> is_deadly,
                                             FunctionRef<void(const ItemRange&)> compute) {
    std::vector<std::uint64_t> failed;
    std::vector<ItemRange> rest{{.first = chunk.first, .count = chunk.count}};  // the next one is the last
    bool is_assumed = chunk.count > 1;
    while (!rest.empty()) {
        const ItemRange range = rest.back();
        rest.pop_back();
        if (!std::exchange(is_assumed, false) && !is_deadly(range)) {
            compute(range);
        } else if (range.count == 1) {
            failed.push_back(range.first);
        } else {
            const std::uint32_t half = range.count / 2;
            rest.push_back({.first = range.first + half, .count = range.count - half});
            rest.push_back({.first = range.first, .count = half});
        }
    }
    return failed;
}

void compute_suspects(const RankContext& context, const PreparedJob& job, const OpenAttempt& attempt,
                      const PreparedRank& rank, ChunkServer& server) {
    std::optional<Suspects> suspects;
    for (const std::uint64_t chunk : suspected_chunks(attempt.earlier)) {
        if (chunk < job.plan.first_chunk) {
            continue;  // committed meanwhile
        }
        if (!suspects) {
            suspects.emplace(context, job, attempt, rank);
        }
        server.know(chunk, suspects->compute(chunk));
    }
    if (!suspects || suspects->failed().empty()) {
        return;
    }
    const std::vector<std::uint64_t>& failed = suspects->failed();
    const std::size_t before = attempt.output->failed_items().size();
    if (failed.size() + before > job.job.fault.max_failed_items) {
        refuse(job, failed, before);
    }
    const ErrorText warning{.id = "W-RUN-093",
                            .where = numbers(failed),
                            .what = "left out of the output, because every attempt that computed it crashed"};
    say(warning);
    attempt.output->leave_out(failed);
}

}  // namespace sluice

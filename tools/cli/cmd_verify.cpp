#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>

#include "core/commit/manifest.hpp"
#include "core/error.hpp"
#include "core/text/parse.hpp"
#include "core/text/wording.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/find_run.hpp"
#include "tools/runtime/progress.hpp"
#include "tools/runtime/spot_check.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

namespace po = boost::program_options;

constexpr std::size_t most_shown = 5;

void verify_options(Options& options) {
    options.add_options()                                                                               //
        ("recompute", po::value<std::string>()->value_name("N"),                                        //
         "compute N items again, chosen at random, and compare their rows; all if there are not more")  //
        ("seed", po::value<std::string>()->value_name("S"),
         "choose the items that an earlier --recompute with S chose")  //
        ("no-progress", "show no progress on stderr");
}

std::optional<std::uint64_t> number_option(const ParsedArguments& parsed, const char* name, std::uint64_t least) {
    if (!parsed.has(name)) {
        return std::nullopt;
    }
    const auto& text = parsed.options[name].as<std::string>();
    const auto number = parse_number<std::uint64_t>(text);
    if (!number || *number < least) {
        refuse_usage(parsed.command,
                     fmt::format("--{}: got {}, expected an integer from {} to 2^64 - 1", name, quoted(text), least));
    }
    return number;
}

/// nullopt: nothing is to be computed again.
std::optional<SpotCheckOptions> spot_check_options(const ParsedArguments& parsed) {
    const auto items = number_option(parsed, "recompute", 1);
    const auto seed = number_option(parsed, "seed", 0);
    if (!items && seed) {
        refuse_usage(parsed.command, "--seed chooses items for --recompute, which is missing");
    }
    return items ? std::optional(SpotCheckOptions{.items = *items,
                                                  .seed = seed ? *seed : std::random_device{}(),
                                                  .progress = !parsed.has("no-progress")})
                 : std::nullopt;
}

/// What was found of a run.
struct Findings {
    const RunPaths& paths;
    std::string owner{};  // empty: this user
    Verification read{};
    std::optional<SpotCheck> recomputed{};
};

std::string as_json(const Findings& found) {
    nlohmann::ordered_json json{{"output", found.paths.output.native()},
                                {"intact", found.read.problems.empty()},
                                {"parts", found.read.parts},
                                {"items", found.read.items},
                                {"bytes", found.read.bytes},
                                {"problems", found.read.problems}};
    if (!found.owner.empty()) {
        json["owner"] = found.owner;
    }
    if (found.recomputed) {
        json["recomputed"] = found.recomputed->recomputed;
        json["differ"] = found.recomputed->differ;
        json["seed"] = found.recomputed->seed;
        json["different"] = nlohmann::ordered_json::array();
        for (const DifferentItem& one : found.recomputed->different) {
            json["different"].push_back(one.item);
        }
    }
    return json_text(json);
}

/// "20 items computed again: all the same (seed 17)"
std::string summary_of(const SpotCheck& found) {
    std::string result;
    if (found.recomputed != 0) {
        result = found.differ == 0 ? ": all the same" : fmt::format(": {} now different", found.differ);
    }
    return fmt::format("{} computed again{} (seed {})", count_of(found.recomputed, "item"), result, found.seed);
}

std::string as_text(const Findings& found) {
    const Verification& read = found.read;
    if (!read.problems.empty()) {
        return fmt::format("{}\n", fmt::join(read.problems, "\n"));
    }
    std::string text = fmt::format("{}: intact: {}, {} in {}{}{}\n", escaped(found.paths.output.native()),
                                   count_of(read.items, "item"), count_of(read.bytes, "byte"),
                                   count_of(read.parts, "part"), found.owner.empty() ? "" : "; a run of " + found.owner,
                                   found.recomputed ? "; " + summary_of(*found.recomputed) : "");
    if (found.recomputed) {
        const auto& different = found.recomputed->different;
        for (std::size_t i = 0; i < std::min(most_shown, different.size()); ++i) {
            text += fmt::format("item {}: the output has {}, and now it is {}\n", different[i].item,
                                different[i].published, different[i].now);
        }
        if (found.recomputed->differ > most_shown) {
            text += fmt::format("and {} more\n", found.recomputed->differ - most_shown);
        }
    }
    return text;
}

/// With its progress on stderr, where that is wanted.
Verification verify_with_progress(const RunPaths& paths, const ParsedArguments& parsed) {
    if (parsed.has("no-progress")) {
        return verify_output(paths);
    }
    std::atomic<std::uint64_t> done = 0;
    std::optional<Progress> progress;
    return verify_output(paths, [&](const ItemCount& items) {
        done = items.done;
        if (!progress) {
            progress.emplace([&done, total = items.total] { return ItemCount{.done = done, .total = total}; });
        }
    });
}

int verify(const ParsedArguments& parsed) {
    const std::optional<SpotCheckOptions> again = spot_check_options(parsed);
    const std::string name = operand_of(parsed, "run");
    const NamedRun run = again ? named_run(name, parsed.apps) : named_run_to_read(name, parsed.apps);
    Findings found{.paths = run.paths,
                   .owner = run.folders.foreign_owner(),
                   .read = verify_with_progress(run.paths, parsed),
                   .recomputed = {}};
    if (again && found.read.problems.empty()) {
        found.recomputed = spot_check(run.paths, parsed.apps, *again);
    }
    print(parsed.has("json") ? as_json(found) : as_text(found));
    require_intact(found.read, run.paths);
    if (found.recomputed) {
        require_same(*found.recomputed, run.paths);
    }
    return 0;
}

}  // namespace

const Command verify_command{
    .name = "verify",
    .synopsis = "RUN [OPTION]...",
    .summary = "read every byte of a complete output and compare it with its manifest",
    .details =
        "RUN is an output, its folder of parts or one of them, its run folder (labels.csv.sluice),\n"
        "its job file, or its Slurm job's number.\n"
        "Says what is wrong with each file; changes nothing. Progress goes to stderr as that of a run.\n"
        "\n"
        "--recompute finds what no checksum can: a device that computes wrongly, an app that is not\n"
        "deterministic. It needs the run's input, weights and kind of device, CPU instructions or GPU model,\n"
        "computes on all cores or one GPU, and prints the seed that chooses the same items again.",
    .exit_codes =
        "  0   every byte is as it was published, and every item computed again is the same\n"
        "  64  wrong command line\n"
        "  65  --recompute: the input or the weights are damaged\n"
        "  66  no run found there, or it is not complete; --recompute: no input or weights\n"
        "  69  a job's number, but no Slurm to ask; --recompute: no GPU\n"
        "  71  --recompute: out of memory\n"
        "  74  a read failed\n"
        "  77  a file of it is not its owner's, or not a regular file; --recompute: another user's run\n"
        "  78  wrong job file; --recompute: input, weights, CPU or GPU are not those of the run\n"
        "  84  the output, its manifest or its job.json is damaged or missing, or an item is different now",
    .example = "  {program} verify labels.csv --recompute 1000",
    .json = true,
    .own_options = verify_options,
    .most_operands = 1,
    .run = verify,
};

}  // namespace sluice

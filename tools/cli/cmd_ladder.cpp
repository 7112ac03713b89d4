#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "core/error.hpp"
#include "core/text/parse.hpp"
#include "core/text/program_name.hpp"
#include "tools/bench/ladder/ladder.hpp"
#include "tools/bench/ladder/report.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/standard_output.hpp"

namespace po = boost::program_options;

namespace sluice {
namespace {

constexpr std::uint32_t most_side = 1U << 20U;
constexpr double most_seconds = 60;

void ladder_options(Options& options) {
    options.add_options()                                                                                      //
        ("rungs", po::value<std::string>()->value_name("LIST"), "rungs by number, like 0,9-12; default: all")  //
        ("m", po::value<std::string>()->value_name("N"),
         "rows of the result; default: 4096 in fp32, 8192 in bf16, 512 on the host")                                 //
        ("n", po::value<std::string>()->value_name("N"), "its columns")                                              //
        ("k", po::value<std::string>()->value_name("N"), "products of each of its sums")                             //
        ("seconds", po::value<std::string>()->value_name("S"), "that a timed window lasts, up to 60; default: 0.5")  //
        ("svg", "print a picture of bars instead, as SVG")("host", "the host's rungs, also where there is a GPU");
}

/// Parses "0,9-12"; each number is one of `known`. `why_these`: why a GPU's are not known; empty: they are, or the
/// host's were asked for.
std::vector<std::uint32_t> rungs_of(const Command& command, const std::string& text,
                                    const std::vector<std::uint32_t>& known, const std::string& why_these) {
    std::vector<std::uint32_t> rungs;
    std::string_view rest = text;
    while (true) {
        const std::string_view part = rest.substr(0, rest.find(','));
        const std::string_view first = part.substr(0, part.find('-'));
        const std::string_view last =
            part.find('-') == std::string_view::npos ? first : part.substr(part.find('-') + 1);
        const auto from = parse_number<std::uint32_t>(first);
        const auto to = parse_number<std::uint32_t>(last);
        if (!from || !to || *from > *to || *to > known.back()) {
            refuse_usage(command, fmt::format("--rungs: got {}, expected numbers up to {}, like 0,2-{}{}", quoted(text),
                                              known.back(), known.back(),
                                              why_these.empty() ? "" : " (the host's; no GPU: " + why_these + ")"));
        }
        for (std::uint32_t rung = *from; rung <= *to; ++rung) {
            rungs.push_back(rung);
        }
        if (part.size() == rest.size()) {
            return rungs;
        }
        rest.remove_prefix(part.size() + 1);
    }
}

double seconds_of(const ParsedArguments& parsed) {
    if (!parsed.has("seconds")) {
        return ladder::LadderOptions{}.seconds;
    }
    const std::string& text = parsed.options["seconds"].as<std::string>();
    const auto seconds = parse_number<double>(text);
    if (!seconds || !(*seconds >= 0) || *seconds > most_seconds) {
        refuse_usage(parsed.command,
                     fmt::format("--seconds: got {}, expected a number 0..{}", quoted(text), most_seconds));
    }
    return *seconds;
}

/// Says what makes the matrices smaller where memory is too small for them.
ladder::LadderResult climb_on(bool gpu, const ladder::LadderOptions& options, const ladder::Report& report) {
    ErrorText text{.id = "E-MEM-068", .where = program_name() + " ladder", .what = "out of memory"};
    try {
        return gpu ? ladder::climb_cuda(options, report) : ladder::climb_host(options, report);
    } catch (const Error& error) {
        if (error.code() != ExitCode::out_of_memory) {
            throw;
        }
        text = error.text();
    } catch (const std::bad_alloc&) {
    }
    text.hint = "choose a smaller --m, --n or --k";
    throw Error(ExitCode::out_of_memory, text);
}

int climb(const ParsedArguments& parsed) {
    std::string why_host;
    const bool on_gpu = !parsed.has("host") && ladder::has_cuda_ladder(why_host);
    ladder::LadderOptions options{.m = count_option(parsed, "m", most_side),
                                  .n = count_option(parsed, "n", most_side),
                                  .k = count_option(parsed, "k", most_side),
                                  .seconds = seconds_of(parsed)};
    if (parsed.has("rungs")) {
        options.rungs =
            rungs_of(parsed.command, parsed.options["rungs"].as<std::string>(),
                     on_gpu ? ladder::cuda_rung_numbers() : ladder::host_rung_numbers(), on_gpu ? "" : why_host);
    }
    const bool as_json = parsed.has("json");
    const bool as_picture = parsed.has("svg");
    if (as_json && as_picture) {
        refuse_usage(parsed.command, "--json and --svg: both are what stdout shows; give one");
    }
    const bool as_table = !as_json && !as_picture;
    if (as_table) {
        if (!on_gpu && !parsed.has("host")) {
            print(fmt::format("the host's rungs, as there is no GPU to climb on: {}\n", why_host));
        }
        print(ladder::table_head());
    }
    const ladder::Report report = [&](const ladder::RungResult& rung) {
        if (as_table) {
            print(ladder::table_line(rung));
        }
    };
    const ladder::LadderResult result = climb_on(on_gpu, options, report);
    print(as_json ? ladder::json_of(result) : as_picture ? ladder::bars(result) : ladder::table_foot(result));
    const bool right = std::ranges::all_of(
        result.rungs, [](const ladder::RungResult& rung) { return !rung.skipped.empty() || rung.right(); });
    return right ? 0 : static_cast<int>(ExitCode::internal);
}

}  // namespace

const Command ladder_command{
    .name = "ladder",
    .synopsis = "[OPTION]...",
    .summary = "time a matrix product, from a naive kernel to the models' own",
    .details =
        "Each rung is a kernel with one more idea than the one before: it is checked against plain sums in\n"
        "fp64 and timed in turn with the vendor's library, cuBLASLt on a GPU and oneDNN on the host. Prints\n"
        "10^12 operations a second, sustained and of a single call, the share of the library's rate, the\n"
        "multiprocessors' clock and the board's energy. docs/ladder.md explains the rungs.",
    .exit_codes =
        "  0   all rungs are right       70  a rung's result is wrong\n"
        "  64  wrong command line        71  out of memory\n"
        "  69  no code for this GPU",
    .example = "  {program} ladder --rungs 0,12-18 --m 8192 --n 8192 --k 8192 --svg > bars.svg",
    .json = true,
    .own_options = ladder_options,
    .most_operands = 0,
    .run = climb,
};

}  // namespace sluice

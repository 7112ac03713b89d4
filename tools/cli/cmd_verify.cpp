#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/commit/manifest.hpp"
#include "core/error.hpp"
#include "core/wording.hpp"
#include "tools/cli/common_options.hpp"
#include "tools/runtime/find_run.hpp"
#include "tools/runtime/standard_output.hpp"

namespace sluice {
namespace {

std::string as_json(const RunPaths& paths, const Verification& found, const std::string& owner) {
    nlohmann::ordered_json json{{"output", paths.output.native()},
                                {"intact", found.problems.empty()},
                                {"parts", found.parts},
                                {"items", found.items},
                                {"bytes", found.bytes},
                                {"problems", found.problems}};
    if (!owner.empty()) {
        json["owner"] = owner;
    }
    return escaped_json(json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)) + "\n";
}

std::string as_text(const RunPaths& paths, const Verification& found, const std::string& owner) {
    if (!found.problems.empty()) {
        return fmt::format("{}\n", fmt::join(found.problems, "\n"));
    }
    return fmt::format("{}: intact: {}, {} in {}{}\n", escaped(paths.output.native()), count_of(found.items, "item"),
                       count_of(found.bytes, "byte"), count_of(found.parts, "part"),
                       owner.empty() ? "" : "; a run of " + owner);
}

int verify(const ParsedArguments& parsed) {
    const NamedRun run = named_run_to_read(operand_of(parsed, "run"), parsed.apps);
    const RunPaths& paths = run.paths;
    const Verification found = verify_output(paths);
    const std::string owner = run.folders.foreign_owner();
    print(parsed.has("json") ? as_json(paths, found, owner) : as_text(paths, found, owner));
    require_intact(found, paths);
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
        "Says what is wrong with each file; changes nothing.",
    .exit_codes =
        "  0   every byte is as it was published\n"
        "  64  wrong command line\n"
        "  66  no run found there, or it is not complete\n"
        "  69  a job's number, but no Slurm to ask\n"
        "  74  a read failed\n"
        "  77  a file of it is not its owner's, or not a regular file\n"
        "  78  wrong job file\n"
        "  84  the output, its manifest or its job.json is damaged or missing",
    .example = "  {program} verify labels.csv",
    .json = true,
    .most_operands = 1,
    .run = verify,
};

}  // namespace sluice

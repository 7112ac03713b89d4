#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "apps/registry.hpp"
#include "core/config_names.hpp"
#include "core/error.hpp"
#include "tools/check_job.hpp"
#include "tools/command_line.hpp"

namespace po = boost::program_options;

namespace sluice {
namespace {

po::options_description options() {
    po::options_description options;
    options.add_options()                                                                     //
        ("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE"),               //
         "set a key of the job, as in --set pipeline.depth=4; may be given again and again")  //
        ("json", "print a JSON object");
    return options;
}

std::string as_text(const JobConfig& job, const JobFacts& facts) {
    std::string text;
    const auto line = [&](std::string_view name, const std::string& what) {
        text += fmt::format("ok  {:<8} {}\n", name, what);
    };
    line("app", job.app);
    line("input",
         fmt::format("{}: {}, {} items, {} bytes, {} bytes an item on the wire", escaped(job.input.path.native()),
                     name_of(job.input.format), facts.items, facts.input_file_bytes, facts.item_bytes));
    line("weights", job.model.weights
                        ? fmt::format("{}: {} bytes", escaped(job.model.weights->native()), *facts.weight_bytes)
                        : fmt::format("random, seed {}", *job.model.random));
    line("output", fmt::format("{}: {}, its folder can be written", escaped(job.output.path.native()),
                               name_of(job.output.format)));
    line("report", escaped(job.output.report.native()));
    line("chunks", fmt::format("{} of {} items", facts.chunks, facts.chunk_items));
    return text;
}

std::string as_json(const JobConfig& job, const JobFacts& facts) {
    nlohmann::ordered_json object;
    object["app"] = job.app;
    object["input"] = {{"path", job.input.path.native()},
                       {"format", name_of(job.input.format)},
                       {"items", facts.items},
                       {"file_bytes", facts.input_file_bytes},
                       {"item_bytes", facts.item_bytes}};
    object["model"] = job.model.weights ? nlohmann::ordered_json{{"weights", job.model.weights->native()},
                                                                 {"bytes", *facts.weight_bytes}}
                                        : nlohmann::ordered_json{{"random", *job.model.random}};
    object["output"] = {{"path", job.output.path.native()},
                        {"format", name_of(job.output.format)},
                        {"report", job.output.report.native()}};
    object["chunks"] = {{"count", facts.chunks}, {"items", facts.chunk_items}};
    return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int check(const Command& command, Arguments arguments) {
    const ParsedArguments parsed = parse_arguments(command, arguments);
    const JobConfig job = read_job(job_file_of(command, parsed), overrides_of(parsed), app_names());
    const App* app = find_app(job.app);
    expects(app != nullptr, "read_job accepts apps of the table only");
    const JobFacts facts = check_job(job, *app);
    print(parsed.has("json") ? as_json(job, facts) : as_text(job, facts));
    return 0;
}

}  // namespace

const Command check_command{
    .name = "check",
    .synopsis = "sluice check JOB.toml [OPTION]...",
    .summary = "find a job's mistakes without running it",
    .details =
        "Validates the job file, reads the whole input and the weights, and tries the output's\n"
        "folder. Ends with the message and the exit code that a run would end with. Leaves no\n"
        "file. With --json, stdout stays empty when something is wrong.",
    .exit_codes =
        "  0   nothing wrong             71  out of memory\n"
        "  64  wrong command line        73  the output cannot be created\n"
        "  65  wrong input or weights    77  the output would replace a file of the job\n"
        "  66  cannot open a file        78  wrong job file or --set\n"
        "  69  the device is missing     81  weights are not finite",
    .example = "  sluice check job.toml --set input.path=other.csv",
    .options = options,
    .most_operands = 1,
    .run = check,
};

}  // namespace sluice

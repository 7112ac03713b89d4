#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "core/error.hpp"
#include "slurm/status_text.hpp"
#include "slurm/submission.hpp"
#include "tools/common_options.hpp"
#include "tools/find_run.hpp"

namespace sluice {
namespace {

constexpr std::chrono::seconds look_every{1};
constexpr std::chrono::seconds ask_every{30};  // one controller serves everyone

Options options() {
    Options options;
    options.add_options()("watch,w", "print it again every second, until the attempt has ended");
    add_json_option(options);
    return options;
}

/// squeue is asked for what the run does not tell itself, and seldom.
class Observer {
public:
    explicit Observer(std::filesystem::path folder) : folder_(std::move(folder)) {}

    [[nodiscard]] RunSight look() {
        RunSight sight{.status = read_run_status(folder_ / "status.json")};
        if (sight.status) {
            const auto now = std::chrono::system_clock::now().time_since_epoch();
            sight.age = std::chrono::duration<double>(now).count() - sight.status->updated;
        }
        if (const auto submission = read_submission(folder_ / "submitted.json")) {
            sight.job = submission->job;
            const bool tells_itself = sight.status && !sight.status->end && !is_stale(sight);
            if (!tells_itself) {
                ask(*submission);
                sight.asked = asked_;
                sight.trouble = trouble_;
                sight.queued = queued_;
            }
        }
        return sight;
    }

private:
    void ask(const Submission& submission) {
        const auto now = std::chrono::steady_clock::now();
        if (last_ && now - *last_ < ask_every) {
            return;
        }
        last_ = now;
        try {
            queued_ = find_in_queue(submission);
            asked_ = true;
            trouble_.clear();
        } catch (const Error& error) {  // said in the status: its own file counts, Slurm may be elsewhere
            asked_ = false;
            trouble_ = fmt::format("{}: {}", error.text().where, error.text().what);
        }
    }

    std::filesystem::path folder_;
    std::optional<std::chrono::steady_clock::time_point> last_;
    std::optional<QueuedJob> queued_;
    std::string trouble_;
    bool asked_ = false;
};

bool is_over(const RunSight& sight) {
    const bool may_go_on = sight.queued && sight.queued->is_active();
    return sight.status && sight.status->end && !may_go_on;
}

int print_status(const Command& command, Arguments arguments) {
    const ParsedArguments parsed = parse_arguments(command, arguments);
    Observer observer(named_run(run_operand(command, parsed)).run_folder());
    const bool json = parsed.has("json");
    const bool clears = ::isatty(STDOUT_FILENO) == 1 && !json;
    for (;;) {
        const RunSight sight = observer.look();
        print((parsed.has("watch") && clears ? "\x1b[H\x1b[2J" : "") +
              (json ? status_json(sight) : status_text(sight)));
        if (!parsed.has("watch") || is_over(sight)) {
            return 0;
        }
        std::this_thread::sleep_for(look_every);
    }
}

}  // namespace

const Command status_command{
    .name = "status",
    .synopsis = "sluice status RUN [OPTION]...",
    .summary = "say how far a run is, how fast, and which rank is slowest",
    .details =
        "RUN is the run's output or its folder, the job file, or the number of a Slurm job. The run\n"
        "itself writes its status once a second; Slurm is asked when it does not, and need not be\n"
        "there at all.",
    .exit_codes =
        "  0   printed                   66  there is no such run\n"
        "  64  wrong command line        69  a job's number, but no Slurm to ask",
    .example = "  sluice status labels.csv --watch",
    .options = options,
    .most_operands = 1,
    .run = print_status,
};

}  // namespace sluice

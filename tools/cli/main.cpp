#include "tools/cli/main.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "core/error.hpp"
#include "core/machine/launch.hpp"
#include "core/process/standard_error.hpp"
#include "core/stage_error.hpp"
#include "core/text/program_name.hpp"
#include "tools/cli/command_line.hpp"

namespace {

/// Opens /dev/null in place of a closed standard stream, so that no other file gets its descriptor, and output meant
/// for a terminal.
void keep_standard_streams() {
    for (int fd = ::open("/dev/null", O_RDWR); fd >= 0; fd = ::open("/dev/null", O_RDWR)) {
        if (fd > STDERR_FILENO) {
            ::close(fd);
            return;
        }
    }
}

/// Whatever the umask takes from others: a run opens again what it has made, as later attempts do.
void leave_owner_access() {
    const mode_t mask = ::umask(S_IRWXG | S_IRWXO);
    ::umask(mask & ~S_IRWXU);
}

/// Before ranks communicate, all fail the same way, and of any command all have the same command line: only one reports
/// it.
bool leaves_it_to_the_first_rank(sluice::Arguments arguments, sluice::ExitCode code) {
    return (sluice::is_for_ranks(arguments) || code == sluice::ExitCode::usage) &&
           sluice::read_launch().is_other_rank();
}

/// mpirun ends all processes as soon as one fails, perhaps before the first rank has said why.
int fail_after_the_first_rank(sluice::ExitCode code) {
    constexpr std::chrono::seconds patience{1};
    std::this_thread::sleep_for(patience);
    return static_cast<int>(code);
}

int fail(const sluice::Failure& failure) {
    sluice::say(failure.text);
    return static_cast<int>(failure.code);
}

}  // namespace

int sluice::main(int argc, char** argv, const Apps& apps) {
    keep_standard_streams();
    leave_owner_access();
    ::signal(SIGPIPE, SIG_IGN);  // a reader that goes away must not end the job
    ::signal(SIGCHLD, SIG_DFL);  // ignored, as a parent may leave it, it would take children's ends away
    ::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit becomes an error of the write, with a message
    std::vector<std::string> arguments;
    try {
        name_program(argc > 0 ? argv[0] : "");
        arguments.assign(argv + (argc > 0 ? 1 : 0), argv + argc);
        return sluice::run_command_line(arguments, apps);
    } catch (const sluice::Error& error) {
        return leaves_it_to_the_first_rank(arguments, error.code()) ? fail_after_the_first_rank(error.code())
                                                                    : fail({error.code(), error.text()});
    } catch (...) {  // fails only this process
        return fail(sluice::describe(std::current_exception(), ""));
    }
}

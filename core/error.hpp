#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "core/text/escape.hpp"  // quoted(): what makes up an ErrorText

namespace sluice {

/// Exit codes of the process. Stable: scripts rely on them (docs/exit-codes.md).
enum class ExitCode : int {
    ok = 0,
    usage = 64,
    bad_data = 65,
    no_input = 66,
    unavailable = 69,
    internal = 70,
    out_of_memory = 71,
    cannot_create = 73,
    io_error = 74,
    stopped_early = 75,
    communication = 76,
    refused = 77,
    configuration = 78,
    in_use = 79,
    gpu_fault = 80,
    numeric = 81,
    no_progress = 82,
    superseded = 83,
    checkpoint_damaged = 84,
};

/// The parts of a message to the user: `sluice: error[ID]: WHERE: WHAT` and, if there is one, `  hint: HINT`. An id
/// that begins with W makes a warning: `sluice: warning[ID]: …`; E-RUN-075, a requested stop, makes a notice.
struct ErrorText {
    std::string id{};     ///< Stable, "E-CFG-009"; docs/errors.md lists them all.
    std::string where{};  ///< "job.toml:14:3", "rank 3 on n07" or a path. Already escaped.
    std::string what{};   ///< What is wrong: got …, expected …. Already escaped.
    std::string hint{};   ///< What to do about it; may be empty.

    friend bool operator==(const ErrorText&, const ErrorText&) = default;
};

/// A failure caused by the user or the machine: bad input, a missing file, a full disk.
class Error : public std::runtime_error {
public:
    Error(ExitCode code, ErrorText text);

    [[nodiscard]] ExitCode code() const noexcept { return code_; }
    [[nodiscard]] const ErrorText& text() const noexcept { return text_; }

private:
    ExitCode code_;
    ErrorText text_;
};

/// The system's text for an errno: "No such file or directory".
[[nodiscard]] std::string system_text(int error);

/// One or two lines for stderr, without a final newline; the first is cut at 400 bytes, the second, a hint, at 2,000:
/// in front of a character or an escape, and "…" says so.
[[nodiscard]] std::string render(const ErrorText& text);

/// A violated precondition or invariant: a defect of the program, never the user's fault.
class ContractViolation : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

/// Throws ContractViolation with `message` unless `condition` holds.
inline void expects(bool condition, const char* message) {
    if (!condition) {
        throw ContractViolation(message);
    }
}

}  // namespace sluice

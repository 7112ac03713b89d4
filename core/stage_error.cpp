#include "core/stage_error.hpp"

#include <cxxabi.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "core/text/program_name.hpp"

namespace sluice {
namespace {

std::string chunk_name(Stage stage, const Chunk& chunk, const std::vector<std::uint64_t>& beside) {
    std::string name = fmt::format("{} of chunk {} (items {} to {})", to_string(stage), chunk.id, chunk.first,
                                   chunk.first + (chunk.count == 0 ? 0 : chunk.count - 1));
    if (!beside.empty()) {
        name += fmt::format(" or of chunk {}, in flight with it", fmt::join(beside, ", "));
    }
    return name;
}

bool is_of_device(Stage stage) {
    return stage == Stage::upload || stage == Stage::compute || stage == Stage::download;
}

Failure no_thread(const std::string& who) {
    return {ExitCode::out_of_memory,
            {.id = "E-MEM-108",
             .where = who,
             .what = "the system starts no more threads",
             .hint = "raise `ulimit -u`, `ulimit -v` or the cgroup's pids.max, or lower run.devices"}};
}

/// Of the exception that is being handled: "int".
std::string type_of_current_exception() {
    const std::type_info* const type = abi::__cxa_current_exception_type();
    if (type == nullptr) {
        return "unknown type";
    }
    const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(type->name(), nullptr, nullptr, nullptr),
                                                           &std::free);
    return fmt::format("type {}", name == nullptr ? type->name() : name.get());
}

Failure defect(const std::string& what, const std::string& who) {
    const std::string& program = program_name();
    const std::string whose = program == "sluice" ? program : fmt::format("an app of {}, or of sluice", program);
    return {ExitCode::internal,
            {.id = "E-RUN-001",
             .where = who,
             .what = fmt::format("internal error: {}", escaped(what)),
             .hint = fmt::format("this is a defect of {}; please report it with the job file", whose)}};
}

}  // namespace

StageError::StageError(Stage stage, const Chunk& chunk, std::exception_ptr cause, std::vector<std::uint64_t> beside)
    : std::runtime_error(chunk_name(stage, chunk, beside)),
      stage_(stage),
      chunk_(chunk),
      cause_(std::move(cause)),
      beside_(std::move(beside)) {}

Failure describe(const std::exception_ptr& failure, const std::string& who) {
    try {
        std::rethrow_exception(failure);
    } catch (const StageError& error) {
        Failure cause = describe(error.cause(), "");
        const std::string inner = cause.text.where.empty() ? "" : cause.text.where + ": ";
        const std::string name = chunk_name(error.stage(), error.chunk(), error.beside());
        cause.text.where = who.empty() ? name : fmt::format("{}: {}", who, name);
        cause.text.what = inner + cause.text.what;
        if (is_of_device(error.stage())) {
            cause.chunks = {error.chunk().id};
            cause.chunks.insert(cause.chunks.end(), error.beside().begin(), error.beside().end());
        }
        return cause;
    } catch (const Error& error) {
        Failure known{error.code(), error.text()};
        if (!who.empty()) {
            known.text.where = known.text.where.empty() ? who : fmt::format("{}: {}", who, known.text.where);
        }
        return known;
    } catch (const std::bad_alloc&) {
        return {ExitCode::out_of_memory,
                {.id = "E-MEM-068",
                 .where = who,
                 .what = "out of memory",
                 .hint = "lower pipeline.depth or pipeline.chunk_items, or ask for more memory"}};
    } catch (const std::system_error& error) {
        return error.code() == std::errc::resource_unavailable_try_again ? no_thread(who) : defect(error.what(), who);
    } catch (const std::exception& error) {
        return defect(error.what(), who);
    } catch (...) {
        return defect(fmt::format("an exception of {}, which is no std::exception", type_of_current_exception()), who);
    }
}

}  // namespace sluice

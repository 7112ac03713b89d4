#include "comm/mpi_session.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string_view>

#include "comm/backoff.hpp"
#include "comm/message_pieces.hpp"
#include "core/machine/launch.hpp"
#include "core/process/fault_point.hpp"
#include "core/process/standard_error.hpp"
#include "core/sync/stopped_before.hpp"

namespace sluice {
namespace {

constexpr std::chrono::milliseconds between_looks{200};

/// Replaces defaults of Open MPI, but not what the user has set.
void set_defaults_of_open_mpi(const Launch& launch) {
    // A waiting rank yields: its core is needed by a model or by the rank that it waits for.
    ::setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);

    // Open MPI searches for network adapters first, which takes longer than the rest of its start-up; ranks of one node
    // share memory and need none.
    if (launch.on_one_node && launch.launcher != Launcher::none && std::getenv("OMPI_MCA_mtl") == nullptr) {
        ::setenv("OMPI_MCA_pml", "ob1", 0);
    }
}

/// The calling thread dies of SIGTERM and SIGINT that are blocked everywhere, and the process with it.
void obey_pending_signals() {
    sigset_t pending;
    sigset_t deadly;
    sigpending(&pending);
    sigemptyset(&deadly);
    for (const int signal : {SIGTERM, SIGINT}) {
        if (sigismember(&pending, signal) == 1) {
            sigaddset(&deadly, signal);
        }
    }
    pthread_sigmask(SIG_UNBLOCK, &deadly, nullptr);
}

/// A launcher of another MPI or without PMI support starts N singletons, each of which would do the whole job.
void refuse_singletons(const Launch& launch, std::optional<std::uint32_t> world) {
    if (const std::optional<ErrorText> finding = find_singletons(launch, world)) {
        throw Error(ExitCode::configuration, *finding);
    }
}

constexpr int tag_text = 11;

/// Calls `begin(piece, request)` for each piece of a message in turn, and sleeps until it is complete.
template <class Byte, class Begin>
void in_pieces(std::span<Byte> message, Begin begin) {
    for (std::size_t i = 0; i < piece_count(message.size(), largest_message); ++i) {
        MPI_Request request = MPI_REQUEST_NULL;
        begin(piece_at(message, largest_message, i), request);
        wait_asleep(request);
    }
}

std::vector<int> all_gather_numbers(MPI_Comm comm, int number) {
    int size = 0;
    check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
    std::vector<int> numbers(static_cast<std::size_t>(size));
    complete_asleep("MPI_Iallgather", [&](MPI_Request* request) {
        return MPI_Iallgather(&number, 1, MPI_INT, numbers.data(), 1, MPI_INT, comm, request);
    });
    return numbers;
}

std::vector<std::string> all_gather_texts(MPI_Comm comm, const std::string& text) {
    expects(text.size() <= largest_message, "MpiSession: text too long");
    const std::vector<int> lengths = all_gather_numbers(comm, static_cast<int>(text.size()));
    const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    expects(total <= INT32_MAX, "MpiSession: texts too long together");
    std::vector<int> offsets(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), offsets.begin(), 0);
    std::string all(static_cast<std::size_t>(total), '\0');
    complete_asleep("MPI_Iallgatherv", [&](MPI_Request* request) {
        return MPI_Iallgatherv(text.data(), static_cast<int>(text.size()), MPI_CHAR, all.data(), lengths.data(),
                               offsets.data(), MPI_CHAR, comm, request);
    });
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
        texts.push_back(all.substr(static_cast<std::size_t>(offsets[i]), static_cast<std::size_t>(lengths[i])));
    }
    return texts;
}

}  // namespace

void check_mpi(int status, const char* call) {
    if (status != MPI_SUCCESS) {
        std::array<char, MPI_MAX_ERROR_STRING> text{};
        int length = 0;
        MPI_Error_string(status, text.data(), &length);
        throw Error(ExitCode::communication,
                    {.id = "E-MPI-106",
                     .where = call,
                     .what = escaped(std::string_view(text.data(), static_cast<std::size_t>(length))),
                     .hint = "see the launcher's own messages above"});
    }
}

std::jthread watch_start() {
    return std::jthread([parent = ::getppid()](const std::stop_token& stop) {
        while (!stopped_before(stop, Clock::now() + between_looks)) {
            obey_pending_signals();
            if (::getppid() != parent) {
                say(ErrorText{.id = "E-MPI-145",
                              .where = "MPI_Init_thread",
                              .what = "the launcher ended before its ranks had found each other",
                              .hint = "run the same command again"});
                ::_exit(static_cast<int>(ExitCode::communication));
            }
        }
    });
}

std::jthread watch_end(std::chrono::nanoseconds longest) {
    return std::jthread([longest](const std::stop_token& stop) {
        std::chrono::nanoseconds waited{0};
        Instant last = Clock::now();
        while (!stopped_before(stop, last + between_looks)) {
            const Instant now = Clock::now();
            waited += std::min<std::chrono::nanoseconds>(now - last, 2 * between_looks);
            last = now;
            if (waited >= longest) {
                say(ErrorText{.id = "E-RUN-076",
                              .where = "MPI_Finalize",
                              .what = fmt::format("another rank has not come here for {:.1f} s: it is stopped, or "
                                                  "cannot be reached",
                                                  Seconds(waited).count()),
                              .hint = "look for stopped processes on the ranks' nodes; the run itself is over: the "
                                      "same command says that its output is complete, or resumes"});
                ::_exit(static_cast<int>(ExitCode::communication));
            }
        }
    });
}

MpiSession::MpiSession() {
    const Launch launch = read_launch();
    refuse_singletons(launch, std::nullopt);
    set_defaults_of_open_mpi(launch);
    const std::jthread watch = watch_start();
    int provided = MPI_THREAD_SINGLE;
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (provided < MPI_THREAD_FUNNELED) {
        throw Error(ExitCode::unavailable, {.id = "E-MPI-071",
                                            .where = "MPI_Init_thread",
                                            .what = "this MPI provides no MPI_THREAD_FUNNELED",
                                            .hint = "use an MPI library built with thread support"});
    }
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_rank(world_, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(world_, &size_), "MPI_Comm_size");
    refuse_singletons(launch, static_cast<std::uint32_t>(size_));
    check_mpi(MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node_), "MPI_Comm_split_type");
    check_mpi(MPI_Comm_rank(node_, &node_rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(node_, &node_size_), "MPI_Comm_size");
}

MpiSession::~MpiSession() {
    MPI_Comm_free(&node_);
    MPI_Comm_free(&world_);
    fault_point("mpi.finalize");
    MPI_Finalize();
}

std::jthread MpiSession::watch_others_end() const {
    constexpr std::chrono::seconds between_turns{3};  // launchers take a second or two to end the others
    constexpr int most_turns = 20;
    return size_ == 1 || patience_.count() == 0 ? std::jthread()
                                                : watch_end(patience_ + std::min(rank_, most_turns) * between_turns);
}

void MpiSession::broadcast(std::string& text) {
    auto size = static_cast<std::int64_t>(text.size());
    broadcast_number(size);
    text.resize(static_cast<std::size_t>(size));
    broadcast_asleep(world_, std::as_writable_bytes(std::span(text)));
}

void MpiSession::broadcast_number(std::int64_t& number) {
    broadcast_asleep(world_, raw_bytes(number));
}

std::vector<std::string> MpiSession::gather(const std::string& text) {
    const auto length = static_cast<std::int64_t>(text.size());
    std::vector<std::int64_t> lengths(rank_ == 0 ? static_cast<std::size_t>(size_) : 0);
    complete_asleep("MPI_Igather", [&](MPI_Request* request) {
        return MPI_Igather(&length, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, 0, world_, request);
    });
    std::vector<std::string> texts;
    if (rank_ != 0) {
        in_pieces(std::as_bytes(std::span(text)), [this](std::span<const std::byte> piece, MPI_Request& request) {
            begin_send(piece, 0, tag_text, request);
        });
        return texts;
    }
    texts.push_back(text);
    for (int rank = 1; rank < size_; ++rank) {
        std::string& theirs =
            texts.emplace_back(static_cast<std::size_t>(lengths[static_cast<std::size_t>(rank)]), '\0');
        in_pieces(std::as_writable_bytes(std::span(theirs)), [&](std::span<std::byte> piece, MPI_Request& request) {
            begin_receive(piece, rank, tag_text, request);
        });
    }
    return texts;
}

std::vector<std::string> MpiSession::node_all_gather(const std::string& text) {
    return all_gather_texts(node_, text);
}

std::vector<int> MpiSession::all_gather(int number) {
    return all_gather_numbers(world_, number);
}

std::int64_t MpiSession::least(std::int64_t number) {
    std::int64_t result = 0;
    complete_asleep("MPI_Iallreduce", [&](MPI_Request* request) {
        return MPI_Iallreduce(&number, &result, 1, MPI_INT64_T, MPI_MIN, world_, request);
    });
    return result;
}

void MpiSession::barrier() {
    complete_asleep("MPI_Ibarrier", [&](MPI_Request* request) { return MPI_Ibarrier(world_, request); });
}

void MpiSession::node_barrier() {
    complete_asleep("MPI_Ibarrier", [&](MPI_Request* request) { return MPI_Ibarrier(node_, request); });
}

void MpiSession::send(std::span<const std::byte> bytes, int to, int tag) {
    check_mpi(MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, world_), "MPI_Send");
}

void MpiSession::receive(std::span<std::byte> bytes, int from, int tag) {
    check_mpi(MPI_Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, tag, world_, MPI_STATUS_IGNORE),
              "MPI_Recv");
}

void MpiSession::begin_send(std::span<const std::byte> bytes, int to, int tag, MPI_Request& request) {
    check_mpi(MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, tag, world_, &request),
              "MPI_Isend");
}

void MpiSession::begin_receive(std::span<std::byte> bytes, int from, int tag, MPI_Request& request) {
    check_mpi(MPI_Irecv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, from, tag, world_, &request),
              "MPI_Irecv");
}

void MpiSession::abort(ExitCode code) {
    MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
    std::_Exit(static_cast<int>(code));
}

bool wait_asleep(MPI_Request& request, std::chrono::nanoseconds at_most) {
    const Instant begin = Clock::now();
    Backoff backoff;
    for (;;) {
        int done = 0;
        check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) {
            return true;
        }
        if (Clock::now() - begin >= at_most) {
            return false;
        }
        if (const auto pause = backoff.next(); pause.count() > 0) {
            std::this_thread::sleep_for(pause);
        }
    }
}

std::string mpi_library() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    check_mpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    const std::string_view all(text.data());  // Open MPI's length includes the terminating null
    return std::string(all.substr(0, all.find('\n')));
}

void wait_asleep(MPI_Request& request) {
    static_cast<void>(wait_asleep(request, std::chrono::nanoseconds::max()));
}

void broadcast_asleep(MPI_Comm comm, std::span<std::byte> bytes) {
    in_pieces(bytes, [comm](std::span<std::byte> piece, MPI_Request& request) {
        check_mpi(MPI_Ibcast(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, 0, comm, &request), "MPI_Ibcast");
    });
}

}  // namespace sluice

#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <vector>

#include "comm/endpoint.hpp"
#include "comm/mpi_session.hpp"
#include "comm/pending_messages.hpp"
#include "comm/rank_board.hpp"
#include "comm/wire.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/lanes.hpp"
#include "core/stop_request.hpp"

namespace sluice {

/// Rank 0 ends the job with a failure that it has said, or does not answer any more: then the text has an id. Nothing
/// is left to do for this rank.
class RootHasEnded : public Error {
public:
    using Error::Error;
};

/// The comm thread of a rank other than 0: carries its drivers' requests and results to rank 0 and chunks back.
class MpiWorker {
public:
    /// `session`, `endpoints` (one a device) and `record` (where it notes what is under way), and `lane`, where this
    /// thread says whether it waits, outlive it.
    MpiWorker(MpiSession& session, std::deque<Endpoint>& endpoints, RankRecord& record, const WireShape& shape,
              Lane* lane = nullptr);
    MpiWorker(const MpiWorker&) = delete;
    MpiWorker& operator=(const MpiWorker&) = delete;
    ~MpiWorker();

    /// Until every driver has ended and everything was sent. When a stop is asked for, rank 0 hears of it, and ends the
    /// input. Throws what a driver ended with, or RootHasEnded, also when rank 0 serves and has not answered a stop for
    /// `answer_within`.
    void run(Doorbell& bell, const StopRequest& stop, std::chrono::nanoseconds answer_within = std::chrono::seconds(5));

    /// After that: until rank 0 says that the run is over. Throws RootHasEnded.
    void wait_for_the_end(Doorbell& bell);

    /// Tells rank 0, in one message, what this rank ends with. Waits `at_most` for it to be taken; false if it was not.
    [[nodiscard]] static bool report_failure(MpiSession& session, const std::string& text,
                                             std::chrono::nanoseconds at_most);

private:
    enum class What : std::uint8_t { request, result, rank, sign };
    struct Note {
        What what = What::request;
        bool is_head = false;  // the head of a grant
        std::uint32_t device = 0;
        std::uint32_t slot = 0;
    };
    /// Where a slot stands. A request is over when it was sent and head and items came; a result when all was sent.
    struct SlotState {
        ControlMessage request{};
        ControlMessage head{};
        ControlMessage result{};
        std::size_t request_messages = 0;  // still under way
        std::size_t result_messages = 0;
        Instant head_came{};
        bool head_is_there = false;
    };
    struct DeviceState {
        std::vector<SlotState> slots;
        std::uint64_t asked = 0;  // requests and results so far, and how many of them were completed, in their order
        std::uint64_t answered = 0;
        std::uint64_t delivering = 0;
        std::uint64_t delivered = 0;
    };

    /// Items or outputs are on their way.
    [[nodiscard]] bool in_transit() const;
    [[nodiscard]] bool take_posts();
    void take(std::uint32_t device, const Post& post);
    void send_request(std::uint32_t device, const Post& post);
    void send_result(std::uint32_t device, const Post& post);
    void send_control(ControlMessage& message, const Note& note);
    void finish(const Note& note);
    /// That this rank gets on, if its watcher has seen that since the last time; while the run drains, that it is
    /// there.
    void send_sign_of_life();
    void listen_to_root();
    /// Whether rank 0 has said something.
    [[nodiscard]] bool hear_root();
    /// A stop was passed on: rank 0 answers at once, if it is there.
    void expect_answer(std::chrono::nanoseconds within);
    void complete_in_order(std::uint32_t device);

    MpiSession& session_;
    std::deque<Endpoint>& endpoints_;
    RankRecord& record_;
    WireShape shape_;
    std::vector<DeviceState> devices_;
    PendingMessages<Note> pending_;
    ControlMessage closed_message_{};
    ControlMessage stop_message_{};
    ControlMessage sign_message_{};
    bool sign_is_under_way_ = false;
    std::uint32_t signs_sent_ = 0;
    Lane own_lane_;
    Lane& lane_;
    std::size_t closed_ = 0;
    ControlMessage from_root_{};
    MPI_Request listening_ = MPI_REQUEST_NULL;
    bool was_granted_ = false;  // rank 0 serves
    bool drains_ = false;
    bool is_over_ = false;
    Instant last_sign_{};
    Instant last_look_{};
    std::chrono::nanoseconds unanswered_{0};  // while this thread runs
};

}  // namespace sluice

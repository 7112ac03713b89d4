#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <span>
#include <stdexcept>
#include <vector>

#include "comm/clock_bounds.hpp"
#include "comm/endpoint.hpp"
#include "comm/mpi_session.hpp"
#include "comm/pending_messages.hpp"
#include "comm/rank_board.hpp"
#include "comm/wire.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/sync/stop_request.hpp"
#include "core/trace/activities.hpp"

namespace sluice {

/// Rank 0 has ended the job with a failure, which it reports.
class RootHasEnded : public std::runtime_error {
public:
    explicit RootHasEnded(ExitCode code) : std::runtime_error("rank 0 has ended the job"), code_(code) {}
    [[nodiscard]] ExitCode code() const noexcept { return code_; }

private:
    ExitCode code_;
};

/// Rank 0's heartbeats have stopped.
class RootIsSilent : public std::runtime_error {
public:
    explicit RootIsSilent(std::chrono::nanoseconds silence)
        : std::runtime_error("rank 0 is silent"), silence_(silence) {}
    [[nodiscard]] std::chrono::nanoseconds silence() const noexcept { return silence_; }

private:
    std::chrono::nanoseconds silence_;
};

struct MpiWorkerOptions {
    Activity* activity = nullptr;  ///< Where its thread reports whether it waits; outlives it.
    std::chrono::nanoseconds longest_silence = std::chrono::seconds(5);  ///< Of rank 0, after a stop request.
    /// Where rank 0 reads items, as this rank has mapped it; empty: they come as messages.
    std::span<const std::byte> shared_items{};
};

/// The comm thread of a rank other than 0: sends its drivers' requests and results to rank 0 and receives chunks.
class MpiWorker {
public:
    /// `session`, `endpoints` (one per device) and `entry` (where it records open chunks) outlive it.
    MpiWorker(MpiSession& session, std::deque<Endpoint>& endpoints, RankEntry& entry, const MessageShape& shape,
              const MpiWorkerOptions& options = {});
    MpiWorker(const MpiWorker&) = delete;
    MpiWorker& operator=(const MpiWorker&) = delete;
    ~MpiWorker();

    /// Runs until every driver has ended and everything is sent. Reports a stop request to rank 0, which then ends the
    /// input. Rethrows a driver's failure; throws RootHasEnded when rank 0 says so, and RootIsSilent when, having begun
    /// to serve, it is silent for longer than options.longest_silence after a stop request on any rank.
    void run(Doorbell& bell, const StopRequest& stop);

    /// After run(): blocks until rank 0 reports that the run is done. Throws RootHasEnded and RootIsSilent in the same
    /// cases.
    void wait_for_the_end(Doorbell& bell, const StopRequest& stop);

    /// Clock bounds from rank 0's messages so far.
    [[nodiscard]] const ClockBounds& clock_bounds() const noexcept { return clock_bounds_; }

    /// Sends rank 0 this rank's failure in one message. Waits up to `at_most` for its receipt; false if it was not
    /// received.
    [[nodiscard]] static bool report_failure(MpiSession& session, const std::string& text,
                                             std::chrono::nanoseconds at_most);

private:
    enum class What : std::uint8_t { request, result, rank, heartbeat };
    struct Note {
        What what = What::request;
        bool is_head = false;  // the head of a grant
        std::uint32_t device = 0;
        std::uint32_t slot = 0;
    };
    /// State of a slot. A request is complete when it was sent, and head and items arrived; a result when all was sent,
    /// also that items were fetched.
    struct SlotState {
        ControlMessage request{};
        ControlMessage head{};
        ControlMessage fetched{};
        ControlMessage result{};
        std::size_t request_messages = 0;  // still pending
        std::size_t result_messages = 0;
        Instant head_came{};
        bool head_is_there = false;
    };
    struct DeviceState {
        std::vector<SlotState> slots;
        std::uint64_t asked = 0;  // requests and results so far, and how many were completed, in order
        std::uint64_t answered = 0;
        std::uint64_t delivering = 0;
        std::uint64_t delivered = 0;
    };

    /// Whether items or outputs are in transit.
    [[nodiscard]] bool in_transit() const;
    void take(std::uint32_t device, const Post& post);
    void send_request(std::uint32_t device, const Post& post);
    void send_fetched(std::uint32_t device, const Post& post);
    void send_result(std::uint32_t device, const Post& post);
    void send_control(ControlMessage& message, const Note& note);
    void finish(const Note& note);
    /// Reports progress if the watcher has seen any since the last heartbeat; while the run drains, that the rank is
    /// alive.
    void send_heartbeat();
    void listen_to_root();
    /// Whether a message from rank 0 has arrived.
    [[nodiscard]] bool hear_root();
    /// Reports a stop to rank 0, once; if alive, it answers at once and sends heartbeats from then on.
    void pass_on(const StopRequest& stop);
    void look_for_root();
    void note_message_of_root();
    void complete_in_order(std::uint32_t device);
    /// Where the items of a grant lie; empty: they came with it, or there are none.
    [[nodiscard]] std::span<const std::byte> items_of(const ControlMessage& head) const;

    MpiSession& session_;
    std::deque<Endpoint>& endpoints_;
    RankEntry& entry_;
    MessageShape shape_;
    std::vector<DeviceState> devices_;
    PendingMessages<Note> pending_;
    ControlMessage closed_message_{};
    ControlMessage stop_message_{};
    ControlMessage heartbeat_message_{};
    bool heartbeat_is_under_way_ = false;
    std::uint32_t heartbeats_sent_ = 0;
    MpiWorkerOptions options_;
    Activity own_activity_;
    Activity& activity_;
    std::size_t closed_ = 0;
    ControlMessage from_root_{};
    MPI_Request listening_ = MPI_REQUEST_NULL;
    ClockBounds clock_bounds_;
    std::uint64_t root_messages_ = 0;
    bool said_stop_ = false;
    bool drains_ = false;
    bool is_done_ = false;
    Instant last_heartbeat_{};
    Instant last_look_{};
    std::chrono::nanoseconds silence_{0};  // of rank 0, counted while this thread runs
};

}  // namespace sluice

#include "comm/mpi_remote_hub.hpp"

#include <algorithm>
#include <utility>

#include "comm/message_pieces.hpp"
#include "comm/wire.hpp"
#include "core/process/fault_point.hpp"

namespace sluice {
namespace {

/// Control receives posted at once: more would only save copies when many ranks send simultaneously.
constexpr std::size_t most_listening = 64;

constexpr std::size_t told_at_most = 2;  // drain and end

std::size_t grant_messages(const MessageShape& shape) {
    return 1 + piece_count(shape.input_bytes(shape.chunk_items), shape.largest_message);
}

std::size_t result_messages(const MessageShape& shape) {
    return piece_count(shape.output_bytes(shape.chunk_items), shape.largest_message);
}

std::size_t slots_of_others(const MessageShape& shape, const std::vector<std::uint32_t>& devices_of_rank) {
    std::size_t slots = 0;
    for (std::size_t rank = 1; rank < devices_of_rank.size(); ++rank) {
        slots += std::size_t{devices_of_rank[rank]} * shape.depth;
    }
    return slots;
}

void begin_chunk(MpiRemoteHub::Traffic& traffic, Instant now) {
    if (traffic.under_way++ == 0) {
        traffic.since = now;
    }
}

void end_chunk(MpiRemoteHub::Traffic& traffic, Instant now, std::uint64_t bytes) {
    traffic.bytes.fetch_add(bytes, std::memory_order_relaxed);
    if (--traffic.under_way == 0) {
        traffic.busy.store(traffic.busy.load(std::memory_order_relaxed) + (now - traffic.since),
                           std::memory_order_relaxed);
    }
}

}  // namespace

MpiRemoteHub::MpiRemoteHub(MpiSession& session, ChunkServer& server, CommTrace& trace, const MessageShape& shape,
                           const std::vector<std::uint32_t>& devices_of_rank, std::uint32_t staged,
                           std::uint32_t window, SharedItems shared)
    : session_(session),
      server_(server),
      trace_(trace),
      shape_(shape),
      shared_(std::move(shared)),
      devices_of_rank_(devices_of_rank),
      slots_(slots_of_others(shape, devices_of_rank)),
      controls_(std::min(most_listening, 3 * slots_.size() + 2)),
      listening_(controls_.size()),
      pending_((staged + slots_.size()) * grant_messages(shape) + window * result_messages(shape)),
      clock_bounds_(static_cast<std::size_t>(session.size())),
      sent_(clock_bounds_.size()),
      received_(clock_bounds_.size()),
      open_ranks_(session.size() - 1),
      closed_(static_cast<std::size_t>(session.size())),
      last_heard_(static_cast<std::size_t>(session.size())),
      heard_(static_cast<std::size_t>(session.size())),
      heartbeats_(session) {
    told_.reserve(told_at_most * closed_.size());
    check_tags(std::ranges::max(devices_of_rank), shape.depth, read_largest_tag());
    std::size_t next = 0;
    for (std::size_t rank = 0; rank < devices_of_rank.size(); ++rank) {
        first_slot_of_rank_.push_back(next);
        for (std::size_t i = 0; rank > 0 && i < std::size_t{devices_of_rank[rank]} * shape.depth; ++i) {
            slots_[next++].rank = static_cast<int>(rank);
        }
    }
    for (std::size_t i = 0; i < controls_.size(); ++i) {
        listen(i);
    }
}

MpiRemoteHub::~MpiRemoteHub() {
    listening_.cancel_all();
    for (MPI_Request& request : told_) {
        if (request != MPI_REQUEST_NULL) {
            MPI_Request_free(&request);
        }
    }
}

void MpiRemoteHub::listen(std::size_t index) {
    session_.begin_receive(raw_bytes(controls_[index]), MPI_ANY_SOURCE, tags::control,
                           listening_.add({What::control, index}));
}

bool MpiRemoteHub::progress() {
    const Instant now = Clock::now();
    clock_ += std::min<std::chrono::nanoseconds>(now - last_progress_, longest_silence_step);
    last_progress_ = now;
    heartbeats_.send_if_due(now);
    bool moved = finish_messages();
    moved |= listening_.test([&](const Note& note, const MPI_Status& status) {
        const ControlMessage message = controls_[note.index];
        listen(note.index);
        take(status.MPI_SOURCE, message);
    });
    return moved;
}

bool MpiRemoteHub::finish_messages() {
    return pending_.test([&](const Note& note, const MPI_Status&) {
        SlotState& slot = slots_[note.index];
        if (note.what == What::grant) {
            finish_grant(slot);
        } else {
            finish_result(slot);
        }
    });
}

void MpiRemoteHub::take(int rank, const ControlMessage& message) {
    last_heard_[static_cast<std::size_t>(rank)] = clock_;
    heard_[static_cast<std::size_t>(rank)] = true;
    if (message.sent != Instant()) {
        clock_bounds_[static_cast<std::size_t>(rank)].add(message.sent, Clock::now() - message.sent);
    }
    switch (message.kind) {
        case ControlMessage::Kind::request:
            server_.request({rank, message.device, message.slot});
            break;
        case ControlMessage::Kind::fetched:
            --fetching_;
            server_.release(message.chunk());
            break;
        case ControlMessage::Kind::result:
            receive_result(rank, message);
            break;
        case ControlMessage::Kind::closed:
            closed_[static_cast<std::size_t>(rank)] = true;
            --open_ranks_;
            break;
        case ControlMessage::Kind::stop:
            if (stop_.signal == 0) {
                stop_ = {.signal = static_cast<int>(message.count), .rank = rank, .reason = StopReason::signal};
            }
            break;
        case ControlMessage::Kind::heartbeat:
            server_.heard(rank);
            break;
        case ControlMessage::Kind::failure:
            throw_failure_of(rank, message.count);
        case ControlMessage::Kind::grant:
        case ControlMessage::Kind::drain:
        case ControlMessage::Kind::end:
            expects(false, "MpiRemoteHub: a rank sent what rank 0 sends");
    }
}

void MpiRemoteHub::announce_drain() {
    drain_.kind = ControlMessage::Kind::drain;
    std::ranges::fill(last_heard_, clock_);
    for (int rank = 1; rank < session_.size(); ++rank) {
        session_.begin_send(raw_bytes(drain_), rank, tags::from_root, told_.emplace_back(MPI_REQUEST_NULL));
    }
    heartbeats_.send_every(between_heartbeats);
}

std::optional<int> MpiRemoteHub::find_silent(std::chrono::nanoseconds longest) const {
    for (std::size_t rank = 1; rank < closed_.size(); ++rank) {
        if (heard_[rank] && !closed_[rank] && clock_ - last_heard_[rank] > longest) {
            return static_cast<int>(rank);
        }
    }
    return std::nullopt;
}

void MpiRemoteHub::end_ranks(ExitCode code) noexcept {
    end_ = {.kind = ControlMessage::Kind::end, .count = static_cast<std::uint32_t>(code)};
    for (int rank = 1; rank < session_.size(); ++rank) {
        MPI_Isend(&end_, sizeof end_, MPI_BYTE, rank, tags::from_root, session_.world(),
                  &told_.emplace_back(MPI_REQUEST_NULL));
    }
    const Instant end = Clock::now() + longest_farewell;
    int done = 0;
    while (done == 0 && Clock::now() < end) {
        MPI_Testall(static_cast<int>(told_.size()), told_.data(), &done, MPI_STATUSES_IGNORE);
        done = done != 0 && heartbeats_.have_left() ? 1 : 0;
    }
}

void MpiRemoteHub::send(const Grant& grant) {
    const std::size_t index = slot_index(grant.to.rank, grant.to.device, grant.to.slot);
    SlotState& slot = slots_[index];
    const Note note{What::grant, index};
    // The slot's last grant has arrived, or it would not ask: MPI only has to notice.
    while (slot.grant_messages != 0) {
        static_cast<void>(finish_messages());
    }
    slot.grant_begun = Clock::now();
    slot.head = {.kind = ControlMessage::Kind::grant,
                 .device = grant.to.device,
                 .slot = grant.to.slot,
                 .count = grant.chunk.count,
                 .id = grant.chunk.id,
                 .first = grant.chunk.first,
                 .sent = slot.grant_begun};
    const bool shares = shared_.are_of(slot.rank);
    if (shares && !grant.items.empty()) {
        ++fetching_;
        slot.head.offset = static_cast<std::uint64_t>(grant.items.data() - shared_.memory.data());
    }
    slot.grant_messages = shares ? 1 : grant_messages(shape_);
    if (grant.chunk.count > 0 && !shares) {
        begin_chunk(sent_[static_cast<std::size_t>(slot.rank)], slot.grant_begun);
    }
    session_.begin_send(raw_bytes(slot.head), grant.to.rank, tags::grant(grant.to.device, grant.to.slot, shape_.depth),
                        pending_.add(note));
    for (std::size_t i = 0; i + 1 < slot.grant_messages; ++i) {
        const std::span<const std::byte> piece = piece_at(grant.items, shape_.largest_message, i);
        // Synchronous, so that it completes on receipt and its time is the link's: a buffered send completes once
        // copied.
        check_mpi(MPI_Issend(piece.data(), static_cast<int>(piece.size()), MPI_BYTE, grant.to.rank,
                             tags::items(grant.to.device, grant.to.slot, shape_.depth), session_.world(),
                             &pending_.add(note)),
                  "MPI_Issend");
    }
    if (!shares) {
        fault_delay("scatter");
    }
}

void MpiRemoteHub::finish_grant(SlotState& slot) {
    if (--slot.grant_messages == 0 && slot.head.count > 0 && !shared_.are_of(slot.rank)) {
        const Chunk chunk = slot.head.chunk();
        const Instant now = Clock::now();
        const std::uint64_t bytes = shape_.input_bytes(chunk.count);
        trace_.scatter.add(
            {.stage = Stage::scatter, .busy = {slot.grant_begun, now}, .items = chunk.count, .bytes = bytes});
        end_chunk(sent_[static_cast<std::size_t>(slot.rank)], now, bytes);
        server_.release(chunk);
    }
}

void MpiRemoteHub::receive_result(int rank, const ControlMessage& message) {
    const std::size_t index = slot_index(rank, message.device, message.slot);
    SlotState& slot = slots_[index];
    while (slot.result_messages != 0) {  // its last result was sent completely: MPI only has to notice
        static_cast<void>(finish_messages());
    }
    slot.result = message.chunk();
    slot.checksum = message.checksum;
    slot.result_begun = Clock::now();
    begin_chunk(received_[static_cast<std::size_t>(rank)], slot.result_begun);
    const std::span<std::byte> to = server_.place(slot.result, rank);
    slot.result_messages = piece_count(to.size(), shape_.largest_message);
    for (std::size_t i = 0; i < slot.result_messages; ++i) {
        session_.begin_receive(piece_at(to, shape_.largest_message, i), rank,
                               tags::outputs(message.device, message.slot, shape_.depth),
                               pending_.add({What::result, index}));
    }
    fault_delay("gather");
}

void MpiRemoteHub::finish_result(SlotState& slot) {
    if (--slot.result_messages == 0) {
        const Instant now = Clock::now();
        const std::uint64_t bytes = shape_.output_bytes(slot.result.count);
        trace_.gather.add(
            {.stage = Stage::gather, .busy = {slot.result_begun, now}, .items = slot.result.count, .bytes = bytes});
        end_chunk(received_[static_cast<std::size_t>(slot.rank)], now, bytes);
        server_.arrived(slot.result, slot.rank, slot.checksum);
    }
}

bool MpiRemoteHub::all_closed() const {
    return open_ranks_ == 0 && pending_.empty();
}

void MpiRemoteHub::throw_failure_of(int rank, std::uint32_t length) {
    std::string text(length, '\0');
    session_.receive(std::as_writable_bytes(std::span(text)), rank, tags::failure_text);
    throw RemoteFailure(rank, text);
}

std::size_t MpiRemoteHub::slot_index(int rank, std::uint32_t device, std::uint32_t slot) const {
    const bool known = rank > 0 && rank < session_.size() &&
                       device < devices_of_rank_[static_cast<std::size_t>(rank)] && slot < shape_.depth;
    expects(known, "MpiRemoteHub: a message names a slot that does not exist");
    return first_slot_of_rank_[static_cast<std::size_t>(rank)] + std::size_t{device} * shape_.depth + slot;
}

}  // namespace sluice

#include "comm/mpi_worker.hpp"

#include <algorithm>

#include "comm/backoff.hpp"
#include "comm/message_pieces.hpp"
#include "comm/serve.hpp"
#include "comm/wire.hpp"

namespace sluice {
namespace {

/// While it lives, this rank listens to rank 0, which has to send heartbeats after its first message.
class ExpectingRoot {
public:
    explicit ExpectingRoot(RankEntry& entry) : entry_(entry) {}
    ~ExpectingRoot() { entry_.root_messages.store(0, std::memory_order_relaxed); }
    ExpectingRoot(const ExpectingRoot&) = delete;
    ExpectingRoot& operator=(const ExpectingRoot&) = delete;

private:
    RankEntry& entry_;
};

std::size_t messages_at_once(const MessageShape& shape, std::size_t devices) {
    const std::size_t request = 2 + piece_count(shape.input_bytes(shape.chunk_items), shape.largest_message);
    const std::size_t result = 2 + piece_count(shape.output_bytes(shape.chunk_items), shape.largest_message);
    return devices * shape.depth * (request + result) + 3;  // plus, per rank: stop, heartbeat, closed
}

}  // namespace

MpiWorker::MpiWorker(MpiSession& session, std::deque<Endpoint>& endpoints, RankEntry& entry, const MessageShape& shape,
                     const MpiWorkerOptions& options)
    : session_(session),
      endpoints_(endpoints),
      entry_(entry),
      shape_(shape),
      devices_(endpoints.size()),
      pending_(messages_at_once(shape, endpoints.size())),
      options_(options),
      activity_(options_.activity == nullptr ? own_activity_ : *options_.activity) {
    check_tags(endpoints.size(), shape.depth, read_largest_tag());
    for (DeviceState& device : devices_) {
        device.slots.resize(shape.depth);
    }
    listen_to_root();
}

MpiWorker::~MpiWorker() {
    if (listening_ != MPI_REQUEST_NULL) {
        MPI_Cancel(&listening_);
        MPI_Wait(&listening_, MPI_STATUS_IGNORE);
    }
}

void MpiWorker::run(Doorbell& bell, const StopRequest& stop) {
    const ExpectingRoot expecting(entry_);
    Backoff backoff;
    bool said_closed = false;
    while (!said_closed || !pending_.empty()) {
        activity_.move();
        const std::uint32_t seen = bell.listen();
        pass_on(stop);
        if (!said_closed) {
            send_heartbeat();
        }
        bool moved = hear_root();
        look_for_root();
        moved |= take_posts(endpoints_, [this](std::uint32_t device, const Post& post) { take(device, post); });
        moved |= pending_.test([&](const Note& note, const MPI_Status&) { finish(note); });
        if (!said_closed && closed_ == endpoints_.size() && pending_.empty()) {
            closed_message_.kind = ControlMessage::Kind::closed;
            send_control(closed_message_, {.what = What::rank});
            said_closed = true;
        }
        if (moved) {
            note_open_chunk(entry_, endpoints_);
            backoff.reset();
        } else if (!said_closed || !pending_.empty()) {
            activity_.wait(Stage::gather);
            bell.wait_for(seen, backoff.next(in_transit() ? Backoff::in_transit : Backoff::longest));
            activity_.work(Stage::gather, Activity::no_chunk);
        }
    }
    activity_.end();
}

void MpiWorker::wait_for_the_end(Doorbell& bell, const StopRequest& stop) {
    const ExpectingRoot expecting(entry_);
    Backoff backoff;
    const auto move_on = [this] { return pending_.test([&](const Note& note, const MPI_Status&) { finish(note); }); };
    while (!is_done_) {
        const std::uint32_t seen = bell.listen();
        pass_on(stop);
        bool moved = hear_root();
        look_for_root();
        moved |= move_on();
        if (!moved) {
            bell.wait_for(seen, backoff.next(Backoff::longest));
        }
    }
    const Instant end = Clock::now() + longest_farewell;  // a stop message that is no longer received
    while (!pending_.empty() && Clock::now() < end) {
        static_cast<void>(move_on());
    }
}

void MpiWorker::listen_to_root() {
    session_.begin_receive(raw_bytes(from_root_), 0, tags::from_root, listening_);
}

bool MpiWorker::hear_root() {
    int came = 0;
    if (!is_done_) {
        check_mpi(MPI_Test(&listening_, &came, MPI_STATUS_IGNORE), "MPI_Test");
    }
    if (came == 0) {
        return false;
    }
    note_message_of_root();
    if (from_root_.kind == ControlMessage::Kind::end) {
        if (from_root_.count != static_cast<std::uint32_t>(ExitCode::ok)) {
            throw RootHasEnded(static_cast<ExitCode>(from_root_.count));
        }
        is_done_ = true;
    } else {
        drains_ |= from_root_.kind == ControlMessage::Kind::drain;
        listen_to_root();
    }
    return true;
}

void MpiWorker::pass_on(const StopRequest& stop) {
    const int signal = stop.signal();
    if (signal == 0 || said_stop_ || is_done_) {
        return;
    }
    stop_message_ = {.kind = ControlMessage::Kind::stop, .count = static_cast<std::uint32_t>(signal)};
    send_control(stop_message_, {.what = What::rank});
    said_stop_ = true;
    silence_ = {};
    last_look_ = Clock::now();
}

void MpiWorker::look_for_root() {
    if (root_messages_ == 0 || !(said_stop_ || drains_)) {
        return;
    }
    const Instant now = Clock::now();
    silence_ += std::min<std::chrono::nanoseconds>(now - last_look_, longest_silence_step);
    last_look_ = now;
    if (silence_ > options_.longest_silence) {
        throw RootIsSilent(silence_);
    }
}

void MpiWorker::note_message_of_root() {
    entry_.root_messages.store(++root_messages_, std::memory_order_relaxed);
    silence_ = {};
}

void MpiWorker::send_heartbeat() {
    const std::uint32_t heartbeats = entry_.heartbeats.load(std::memory_order_relaxed);
    const bool is_due = drains_ && Clock::now() - last_heartbeat_ >= between_heartbeats;
    if ((heartbeats != heartbeats_sent_ || is_due) && !heartbeat_is_under_way_) {
        last_heartbeat_ = Clock::now();
        heartbeats_sent_ = heartbeats;
        heartbeat_is_under_way_ = true;
        heartbeat_message_ = {.kind = ControlMessage::Kind::heartbeat};
        send_control(heartbeat_message_, {.what = What::heartbeat});
    }
}

bool MpiWorker::in_transit() const {
    return std::ranges::any_of(devices_, [this](const DeviceState& device) {
        const SlotState& oldest = device.slots[device.answered % shape_.depth];
        return (device.answered != device.asked && oldest.head_is_there) || device.delivered != device.delivering;
    });
}

void MpiWorker::take(std::uint32_t device, const Post& post) {
    switch (post.kind) {
        case Post::Kind::request:
            send_request(device, post);
            break;
        case Post::Kind::fetched:
            send_fetched(device, post);
            break;
        case Post::Kind::deliver:
            send_result(device, post);
            break;
        case Post::Kind::closed:
            ++closed_;
            if (endpoints_[device].failure() != nullptr) {
                std::rethrow_exception(endpoints_[device].failure());
            }
            break;
    }
}

void MpiWorker::send_request(std::uint32_t device, const Post& post) {
    DeviceState& state = devices_[device];
    SlotState& slot = state.slots[post.slot];
    const Note note{.what = What::request, .device = device, .slot = post.slot};
    Note head = note;
    head.is_head = true;
    ++state.asked;

    // Receives are posted first, so that the answer arrives in its buffer without a copy.
    const std::size_t pieces = options_.shared_items.empty() ? piece_count(post.to.size(), shape_.largest_message) : 0;
    slot.request_messages = 2 + pieces;
    slot.head_is_there = false;
    session_.begin_receive(raw_bytes(slot.head), 0, tags::grant(device, post.slot, shape_.depth), pending_.add(head));
    for (std::size_t i = 0; i < pieces; ++i) {
        session_.begin_receive(piece_at(post.to, shape_.largest_message, i), 0,
                               tags::items(device, post.slot, shape_.depth), pending_.add(note));
    }
    slot.request = {.kind = ControlMessage::Kind::request, .device = device, .slot = post.slot, .sent = Clock::now()};
    send_control(slot.request, note);
}

void MpiWorker::send_fetched(std::uint32_t device, const Post& post) {
    SlotState& slot = devices_[device].slots[post.slot];
    ++slot.result_messages;
    slot.fetched = {.kind = ControlMessage::Kind::fetched,
                    .device = device,
                    .slot = post.slot,
                    .count = post.chunk.count,
                    .id = post.chunk.id,
                    .first = post.chunk.first};
    send_control(slot.fetched, {.what = What::result, .device = device, .slot = post.slot});
}

void MpiWorker::send_result(std::uint32_t device, const Post& post) {
    DeviceState& state = devices_[device];
    SlotState& slot = state.slots[post.slot];
    const Note note{.what = What::result, .device = device, .slot = post.slot};
    ++state.delivering;

    const std::size_t pieces = piece_count(post.from.size(), shape_.largest_message);
    slot.result_messages += 1 + pieces;
    slot.result = {.kind = ControlMessage::Kind::result,
                   .device = device,
                   .slot = post.slot,
                   .count = post.chunk.count,
                   .id = post.chunk.id,
                   .first = post.chunk.first,
                   .checksum = post.checksum,
                   .sent = Clock::now()};
    send_control(slot.result, note);
    for (std::size_t i = 0; i < pieces; ++i) {
        session_.begin_send(piece_at(post.from, shape_.largest_message, i), 0,
                            tags::outputs(device, post.slot, shape_.depth), pending_.add(note));
    }
}

void MpiWorker::send_control(ControlMessage& message, const Note& note) {
    session_.begin_send(raw_bytes(message), 0, tags::control, pending_.add(note));
}

void MpiWorker::finish(const Note& note) {
    if (note.what == What::heartbeat) {
        heartbeat_is_under_way_ = false;
    }
    if (note.what == What::heartbeat || note.what == What::rank) {
        return;
    }
    SlotState& slot = devices_[note.device].slots[note.slot];
    if (note.is_head) {
        slot.head_came = Clock::now();
        clock_bounds_.add(slot.head_came, slot.head_came - slot.head.sent);
        slot.head_is_there = true;
        note_message_of_root();
    }
    --(note.what == What::request ? slot.request_messages : slot.result_messages);
    complete_in_order(note.device);
}

void MpiWorker::complete_in_order(std::uint32_t device) {
    DeviceState& state = devices_[device];
    for (; state.answered != state.asked; ++state.answered) {
        const SlotState& slot = state.slots[state.answered % shape_.depth];
        if (slot.request_messages != 0) {
            break;
        }
        endpoints_[device].answer({slot.head.chunk(), slot.head_came, items_of(slot.head)});
        note_open_chunk(entry_, endpoints_);
        endpoints_[device].complete_request();
    }
    for (; state.delivered != state.delivering; ++state.delivered) {
        if (state.slots[state.delivered % shape_.depth].result_messages != 0) {
            break;
        }
        endpoints_[device].complete_delivery();
    }
}

std::span<const std::byte> MpiWorker::items_of(const ControlMessage& head) const {
    const std::span<const std::byte> shared = options_.shared_items;
    if (shared.empty() || head.count == 0) {
        return {};
    }
    const std::size_t bytes = shape_.input_bytes(head.count);
    expects(head.offset <= shared.size() && bytes <= shared.size() - head.offset,
            "MpiWorker: a grant's items lie in the shared memory");
    return shared.subspan(head.offset, bytes);
}

bool MpiWorker::report_failure(MpiSession& session, const std::string& text, std::chrono::nanoseconds at_most) {
    const ControlMessage message{.kind = ControlMessage::Kind::failure,
                                 .count = static_cast<std::uint32_t>(text.size())};
    MPI_Request control = MPI_REQUEST_NULL;
    MPI_Request body = MPI_REQUEST_NULL;
    session.begin_send(raw_bytes(message), 0, tags::control, control);
    check_mpi(
        MPI_Issend(text.data(), static_cast<int>(text.size()), MPI_BYTE, 0, tags::failure_text, session.world(), &body),
        "MPI_Issend");
    return wait_asleep(control, at_most) && wait_asleep(body, at_most);
}

}  // namespace sluice

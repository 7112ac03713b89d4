#include "comm/root_signs.hpp"

#include <future>

#include "comm/serve.hpp"

namespace sluice {

RootSigns::RootSigns(MpiSession& session)
    : session_(session), under_way_(static_cast<std::size_t>(session.size()), MPI_REQUEST_NULL) {}

RootSigns::~RootSigns() {
    for (MPI_Request& request : under_way_) {
        if (request != MPI_REQUEST_NULL) {
            MPI_Request_free(&request);
        }
    }
}

void RootSigns::give_if_due(Instant now) {
    if (pause_.count() == 0 || now - last_ < pause_) {
        return;
    }
    last_ = now;
    for (int rank = 1; rank < session_.size(); ++rank) {
        MPI_Request& request = under_way_[static_cast<std::size_t>(rank)];
        int has_left = 0;
        check_mpi(MPI_Test(&request, &has_left, MPI_STATUS_IGNORE), "MPI_Test");
        if (has_left != 0) {
            check_mpi(MPI_Isend(&sign_, sizeof sign_, MPI_BYTE, rank, tags::from_root, session_.world(), &request),
                      "MPI_Isend");
        }
    }
}

void RootSigns::give_while(const std::function<void()>& action) {
    give_every(between_signs);
    std::future<void> done = std::async(std::launch::async, action);
    do {
        give_if_due(Clock::now());
    } while (done.wait_for(between_signs) != std::future_status::ready);
    done.get();
}

}  // namespace sluice

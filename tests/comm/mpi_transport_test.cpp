#include "comm/mpi_transport.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string loaded(const std::vector<std::string>& files) {
    std::string maps = "7f00-7f01 r-xp 00000000 fe:00 1 /usr/bin/sluice\n7f02-7f03 rw-p 00000000 00:00 0 [heap]\n";
    for (const std::string& file : files) {
        for (const char* const mode : {"r--p", "r-xp"}) {  // each is mapped several times
            maps += std::string("7f10-7f11 ") + mode + " 00000000 fe:00 2 /usr/lib/openmpi3/" + file + "\n";
        }
    }
    return maps;
}

TEST(MpiTransport, IsWhatOpenMpiHasLoaded) {
    const MpiTransport tcp = transport_of_maps(loaded({"mca_btl_sm.so", "mca_btl_self.so", "mca_btl_vader.so",
                                                       "mca_btl_tcp.so", "mca_pml_ob1.so", "mca_fbtl_posix.so"}));
    const MpiTransport ucx = transport_of_maps(loaded({"mca_pml_ucx.so"}));
    const MpiTransport ofi = transport_of_maps(loaded({"mca_pml_cm.so", "mca_mtl_ofi.so"}));

    EXPECT_EQ(tcp.layer, "ob1");
    EXPECT_THAT(tcp.ways, ElementsAre("vader", "tcp"));
    EXPECT_EQ(ucx.layer, "ucx");
    EXPECT_THAT(ucx.ways, IsEmpty());
    EXPECT_EQ(ofi.layer, "cm");
    EXPECT_THAT(ofi.ways, ElementsAre("ofi"));
}

TEST(MpiTransport, IsUnknownWhereNothingIsLoadedByItself) {
    EXPECT_EQ(transport_of_maps(loaded({})).layer, "");
    EXPECT_EQ(transport_of_maps("").layer, "");
    EXPECT_EQ(transport_of_maps("/mca_pml_").layer, "");
}

}  // namespace
}  // namespace sluice

#include "archive/archive.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <rapidcheck.h>
#include <zstd.h>

#include <filesystem>
#include <limits>

#include "archive/tar.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "fakes/temporary_folder.hpp"

using namespace hpcbench;

namespace {

namespace fs = std::filesystem;

std::string squeezed(const std::string& plain, bool checksum = true) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  packed.resize(ZSTD_compress2(context, packed.data(), packed.size(), plain.data(), plain.size()));
  ZSTD_freeCCtx(context);
  return packed;
}

TarBlock block_of(const std::string& blocks, std::size_t index = 0) {
  TarBlock block{};
  std::copy_n(blocks.data() + index * kTarBlock, kTarBlock, block.begin());
  return block;
}

/// A header with other bytes at one place, its checksum made right again.
std::string changed(std::string header, std::size_t at, const std::string& bytes) {
  header.replace(at, bytes.size(), bytes);
  header.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char byte : header) sum += static_cast<unsigned char>(byte);
  return header.replace(148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
}

std::string member(const std::string& path, const std::string& content) {
  return tar_header({path, content.size(), false}) + content + std::string(tar_padding(content.size()), '\0');
}

/// `17 path=a/b\n` and the like, as the pax header before an entry.
std::string pax_member(const std::string& records) {
  return changed(tar_header({"pax", records.size(), false}), 156, "x") + records +
         std::string(tar_padding(records.size()), '\0');
}

std::string head_member(std::uint64_t files, std::uint64_t bytes) {
  return member("archive.json", fmt::format(R"({{"schema":1,"experiment":"tiny","file":"study/tiny.yaml","profile":"",)"
                                            R"("site":"sites/local.yaml","settings":[],"files":{},"bytes":{}}})",
                                            files, bytes));
}

struct Unpacking {
  std::string refused;  // the message of the InputError; empty: it was unpacked
  std::string content;  // of results/x
};

/// Unpacks into a folder of its own; whatever is refused must leave nothing, and nothing ever stands beside the folder.
Unpacking unpack_bytes(const std::string& bytes, std::uint64_t limit = kGigabyte) {
  const TemporaryFolder folder;
  write_file(folder / "a.tar.zst", bytes, Durability::none);
  Unpacking done;
  try {
    unpack_archive(folder / "a.tar.zst", folder / "out", limit);
    done.content = read_file_if_there(folder / "out/results/x").value_or("");
  } catch (const InputError& error) {
    done.refused = error.what();
    CHECK_FALSE(fs::exists(folder / "out"));
  }
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    CHECK((entry.path().filename() == "a.tar.zst" || entry.path().filename() == "out"));
  }
  return done;
}

Unpacking unpack_tar(const std::string& plain, std::uint64_t limit = kGigabyte) { return unpack_bytes(squeezed(plain), limit); }

bool says(const Unpacking& done, const std::string& words) { return done.refused.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("headers come back as they went in, with any path and size") {
  CHECK(rc::check("tar_header -> read_tar_header", [] {
    const auto path = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('!', 'z')));
    const auto size = *rc::gen::arbitrary<std::uint64_t>();
    const std::string blocks = tar_header({path, size, size % 2 == 1});
    TarHeader last = read_tar_header(block_of(blocks, blocks.size() / kTarBlock - 1));
    if (blocks.size() > kTarBlock) {
      const TarHeader pax = read_tar_header(block_of(blocks));
      RC_ASSERT(pax.type == 'x');
      apply_pax_records(std::string_view(blocks).substr(kTarBlock, pax.size), last);
    }
    RC_ASSERT(last.path == path);
    RC_ASSERT(last.size == size);
    RC_ASSERT(last.type == '0');
    RC_ASSERT(last.executable == (size % 2 == 1));
  }));
}

TEST_CASE("headers of other programs: old, ustar with a prefix, and what is wrong") {
  const std::string plain = tar_header({"results/x", 4, false});
  CHECK(read_tar_header(block_of(changed(plain, 156, std::string(1, '\0')))).type == '0');  // before POSIX
  CHECK(read_tar_header(block_of(changed(plain, 345, "deep/down"))).path == "deep/down/results/x");
  CHECK(read_tar_header(block_of(changed(plain, 124, "       4    "))).size == 4);            // blanks around the number
  CHECK(read_tar_header(block_of(changed(plain, 124, "777777777777"))).size == 68719476735);  // no room for its end
  CHECK(read_tar_header(TarBlock{}).is_end);
  const auto refuses = [](const std::string& header) { CHECK_THROWS_AS(read_tar_header(block_of(header)), InputError); };
  refuses(changed(plain, 124, std::string("\x80\0\0\0\0\0\0\0\0\0\0\4", 12)));  // GNU's base 256
  refuses(changed(plain, 124, "00000000008\0"));
  refuses(changed(plain, 124, std::string(12, ' ')));
  refuses(changed(plain, 124, "-0000000004\0"));
  std::string damaged = plain;
  damaged[0] = 'R';
  refuses(damaged);
}

TEST_CASE("pax records: path and size, and everything that is none") {
  TarHeader header;
  apply_pax_records("17 path=a/b/c=d \n20 mtime=1700000000\n", header);
  CHECK(header.path == "a/b/c=d ");
  apply_pax_records("13 size=4096\n", header);
  CHECK(header.size == 4096);
  for (const char* records : {"x", "5", "5 a=b", "6 a=b\n ", "99 a=b\n", "5 a=b\n", "7 a=b\n", "4 ab\n", "3 =\n", "-6 a=b\n",
                              "0 \n", " 6 a=b\n", "18446744073709551615 a=b\n", "99999999999999999999999 a=b\n", "10 size=x\n",
                              "11 size=-1\n", "11 size=1 \n", "30 size=99999999999999999999\n", "8 size=\n"}) {
    CAPTURE(records);
    TarHeader untouched;
    CHECK_THROWS_AS(apply_pax_records(records, untouched), InputError);
  }
  TarHeader removed;
  removed.path = "a";
  apply_pax_records("8 path=\n", removed);  // takes the path away: refused later, as an empty one
  CHECK(why_unsafe(removed.path) == "its path is empty");
}

TEST_CASE("paths that must not be unpacked") {
  for (const char* path : {"a", "a/b", "...", "a/..b", "-", "\xC3\xA9 $(x)'\"", "a\\b", "~"}) CHECK(why_unsafe(path).empty());
  for (const char* path :
       {"", "/", "/a", "..", "../a", "a/..", "a/../b", "a//b", "a/", ".", "./a", "a/./b", "a\nb", "\x1b[2J", "a\x7f"}) {
    CAPTURE(path);
    CHECK_FALSE(why_unsafe(path).empty());
  }
  CHECK_FALSE(why_unsafe(std::string_view("a\0b", 3)).empty());
  CHECK(why_unsafe(std::string(255, 'a') + "/" + std::string(255, 'b')).empty());
  CHECK_FALSE(why_unsafe(std::string(256, 'a')).empty());
  std::string deep = "a";
  while (deep.size() < 999) deep += "/a";
  CHECK(why_unsafe(deep).empty());
  CHECK_FALSE(why_unsafe(deep + "/a").empty());
}

TEST_CASE("a good archive, and one whose pax headers say path and size") {
  CHECK(unpack_tar(head_member(1, 4) + member("results/x", "abcd") + tar_end()).content == "abcd");
  const std::string renamed = pax_member("18 path=results/x\n") + member("results/other", "abcd");
  CHECK(unpack_tar(head_member(1, 4) + renamed + tar_end()).content == "abcd");
}

TEST_CASE("what a hostile archive tries") {
  const std::string end = tar_end();
  const auto refuses = [&](const std::string& members, const std::string& words, std::uint64_t files = 1) {
    const Unpacking done = unpack_tar(head_member(files, 4) + members + end);
    CAPTURE(done.refused);
    CHECK(says(done, words));
  };
  refuses(member("../x", "abcd"), "leads out of the archive");
  refuses(member("/tmp/x", "abcd"), "absolute");
  refuses(changed(tar_header({"x", 4, false}), 345, "results/../..") + std::string(512, 'a'), "leads out of the archive");
  refuses(pax_member("18 path=results/../../x\n"), "");
  refuses(pax_member("26 path=results/../../../x\n") + member("results/x", "abcd"), "malformed");
  refuses(pax_member("24 path=results/../../x\n") + member("results/x", "abcd"), "leads out of the archive");
  for (const char* type : {"1", "2", "3", "4", "5", "6", "7", "L", "K", "S", "g", "V", "\x1b"}) {
    refuses(changed(tar_header({"results/x", 4, false}), 156, type) + std::string(512, 'a'), "no plain file");
  }
  const std::string endless = pax_member("29 size=18446744073709551615\n") + member("results/x", "abcd");
  refuses(endless, "more than archive.json says");
  refuses(changed(tar_header({"results/x", 4, false}), 124, "777777777777"), "more than archive.json says");
  refuses(pax_member("13 comment=a\n") + pax_member("13 comment=a\n") + member("results/x", "abcd"), "no plain file");
  refuses(pax_member("13 comment=a\n"), "ends too early");
  refuses(changed(tar_header({"results/x", 1U << 21U, false}), 156, "x"), "a header is too large");
  refuses(member("results/x", "ab") + member("results/x", "ab"), "comes twice", 2);
  refuses(member("results/x", "ab") + member("results/x/y", "ab"), "refused", 2);
  refuses(member("results/x/y", "ab") + member("results/x", "ab"), "refused", 2);
  refuses(member("results/hpcbench.db", "abcd"), "no such file");
  refuses(member("elsewhere/x", "abcd"), "no such file");
}

TEST_CASE("heads that lie about how much follows") {
  const std::string rest = member("results/x", "abcd") + tar_end();
  CHECK(says(unpack_tar(head_member(1, std::numeric_limits<std::uint64_t>::max()) + rest), "may be unpacked"));
  CHECK(says(unpack_tar(head_member(1, 5) + rest), "less than archive.json says"));
  CHECK(says(unpack_tar(head_member(2, 4) + rest), "less than archive.json says"));
  CHECK(says(unpack_tar(head_member(0, 4) + rest), "more than archive.json says"));
  CHECK(says(unpack_tar(rest), "does not begin with archive.json"));
  CHECK(says(unpack_tar(tar_end()), "does not begin with archive.json"));
  CHECK(says(unpack_tar(member("archive.json", "{") + rest), "malformed"));
  CHECK(says(unpack_tar(member("archive.json", std::string(2000, '[')) + rest), "malformed"));
}

TEST_CASE("cut anywhere, it is refused") {
  const std::string plain = head_member(1, 4) + member("results/x", "abcd") + tar_end();
  const std::string good = squeezed(plain);
  for (std::size_t size = 0; size < good.size(); ++size) CHECK_FALSE(unpack_bytes(good.substr(0, size)).refused.empty());
  // The tar inside cut, zstd whole: only one of the two blocks at the end may be missing.
  for (std::size_t size = 0; size < plain.size() - kTarBlock; size += 64) {
    CHECK(says(unpack_tar(plain.substr(0, size)), "not an archive of hpcbench"));
  }
}

TEST_CASE("a wrong checksum of zstd is noticed, and what stands behind the end") {
  const std::string plain = head_member(1, 4) + member("results/x", "abcd") + tar_end();
  std::string wrong = squeezed(plain);
  wrong.back() = static_cast<char>(wrong.back() ^ 1);
  CHECK(says(unpack_bytes(wrong), "zstd"));
  CHECK(unpack_bytes(squeezed(plain, false)).content == "abcd");  // other programs need not write one
  CHECK(says(unpack_bytes(squeezed(plain) + "x"), "behind its end"));
  CHECK(says(unpack_tar(plain + "x"), "behind its end"));
  CHECK(unpack_tar(plain + std::string(9000, '\0')).content == "abcd");  // tar fills its last record
}

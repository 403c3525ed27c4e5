// SPDX-License-Identifier: MIT
// new and delete in all their kinds, with growing vectors in threads.
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

struct alignas(8192) Wide {
	char data[300000];
};

// What is made escapes here, so that the compiler may not leave it out.
static void *volatile seen;

static void drop(char *block)
{
	seen = block;
	delete[] block;
}

static bool grow(unsigned seed)
{
	std::vector<unsigned> v;
	std::string s;

	for (unsigned i = 0; i < 300000; i++)
		v.push_back(i ^ seed);
	for (unsigned i = 0; i < 40; i++)
		s.append(20000, static_cast<char>('a' + i % 26));
	for (unsigned i = 0; i < v.size(); i += 101)
		if (v[i] != (i ^ seed))
			return false;
	v.shrink_to_fit();
	return s.size() == 800000 && s[799999] == 'n';
}

int main()
{
	std::vector<std::thread> threads;
	int bad = 0;

	for (unsigned i = 0; i < 6; i++)
		threads.emplace_back([i, &bad] {
			for (int k = 0; k < 5; k++)
				if (!grow(i))
					__atomic_store_n(&bad, 1,
							 __ATOMIC_RELAXED);
		});
	for (auto &thread : threads)
		thread.join();
	for (int i = 0; i < 50; i++) {
		std::unique_ptr<Wide> wide(new Wide());

		if (reinterpret_cast<std::size_t>(wide.get()) % 8192 ||
		    wide->data[299999])
			bad = 2;
		wide->data[0] = 1;
		drop(new (std::nothrow) char[5000000]);
		seen = ::operator new(1000000, std::align_val_t(65536));
		::operator delete(seen, std::size_t(1000000),
				  std::align_val_t(65536));
	}
	try {
		volatile std::size_t much = std::size_t(1) << 60;

		drop(new char[much]);
		bad = 3;
	} catch (const std::bad_alloc &) {
		std::puts("bad_alloc");
	}
	volatile std::size_t much = std::size_t(1) << 60;
	seen = new (std::nothrow) char[much];
	if (seen)
		bad = 4;
	std::printf("bad %d\n", bad);
	return bad;
}

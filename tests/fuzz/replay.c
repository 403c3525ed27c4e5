/* SPDX-License-Identifier: MIT */
/*
 * Runs what the fuzzer found, without the fuzzer: replay FILE…, or all files of
 * a folder.
 */
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define INPUT_MAX (1u << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned int nr_run;

static bool run_file(const char *path)
{
	static uint8_t data[INPUT_MAX];
	FILE *file = fopen(path, "rbe");
	size_t len;

	if (!file) {
		perror(path);
		return false;
	}
	len = fread(data, 1, sizeof(data), file);
	fclose(file);
	/* The last line before a panic says which it was. */
	printf("%s: %zu bytes\n", path, len);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, len);
	nr_run++;
	return true;
}

static bool run_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	char name[PATH_MAX];
	bool good = true;

	if (!folder) {
		perror(path);
		return false;
	}
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		good &= run_file(name);
	}
	closedir(folder);
	return good;
}

static bool run(const char *path)
{
	struct stat what;

	if (!stat(path, &what) && S_ISDIR(what.st_mode))
		return run_folder(path);
	return run_file(path);
}

int main(int argc, char **argv)
{
	bool good = true;

	for (int i = 1; i < argc; i++)
		good &= run(argv[i]);
	printf("%u inputs\n", nr_run);
	return good && nr_run ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: MIT */
/* show FILE...: print process records, one "key value" a line. */
#include <stdio.h>
#include <string.h>

#include <quire/stat.h>

static void show(const struct quire_process *p)
{
	char text[8192];

	printf("pid %u\nparent %u\nloaded %u\nended %u\n", p->pid, p->parent,
	       p->loaded, p->ended);
	printf("start_ns %llu\nlast_user_ns %llu\n",
	       (unsigned long long)p->start_ns,
	       (unsigned long long)p->last_user_ns);
	printf("rss_end %llu\nrss_peak %llu\nthreads_peak %llu\n",
	       (unsigned long long)p->rss_end, (unsigned long long)p->rss_peak,
	       (unsigned long long)p->threads_peak);
	printf("exe %s\nmalloc_from %s\nnext_from %s\n", p->exe, p->malloc_from,
	       p->next_from);
	quire_process_text(p, text, sizeof(text));
	fputs(text, stdout);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct quire_process p = { .size = sizeof(p) };
		int error = quire_process_read(argv[i], &p);

		if (error) {
			fprintf(stderr, "%s: %s\n", argv[i], strerror(-error));
			return 1;
		}
		show(&p);
	}
	return 0;
}

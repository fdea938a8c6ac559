"""The task queue behind millrace.tasks: calls of named functions, kept on a broker and run by workers."""

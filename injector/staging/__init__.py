"""From a source of records to chunks that can be read one by one."""

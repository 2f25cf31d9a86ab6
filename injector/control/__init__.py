"""Feed the injector queues and steer their rate."""

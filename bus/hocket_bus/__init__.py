"""The bus: messages, wire codec, sockets and configuration; the only package that imports zmq."""

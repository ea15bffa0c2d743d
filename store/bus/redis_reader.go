package bus

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

const (
	// commandMost is the most bytes of one command: the longest message of the bus with a margin.
	commandMost = payloadMost + 16<<10
	// argumentsMost is how many arguments one command may have.
	argumentsMost = 32
	// earlyMost is the most bytes of one command before the login.
	earlyMost = 8 << 10
	// lineMost is the most bytes of a line, and of the buffer.
	lineMost = 4 << 10
)

// errProtocol is in the chain of the error if a command breaks the protocol or a limit.
var errProtocol = errors.New("Protocol error") //nolint:staticcheck // Redis begins the error so

// readCommand reads one command in RESP2 with at most limit bytes in its arguments. It makes room for an argument only after it has checked
// the length, and reads each byte once.
func readCommand(r *bufio.Reader, limit int) (args [][]byte, err error) {
	n, err := readLength(r, '*')
	if err != nil {
		return nil, err
	}
	if n < 1 || n > argumentsMost {
		return nil, fmt.Errorf("%w: invalid multibulk length %d; send 1 to %d arguments", errProtocol, n, argumentsMost)
	}
	for range n {
		size, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		if size < 0 || size > limit {
			return nil, fmt.Errorf("%w: invalid bulk length %d; a command has at most %d bytes here", errProtocol, size, limit)
		}
		limit -= size
		arg := make([]byte, size+2)
		if _, err := io.ReadFull(r, arg); err != nil {
			return nil, err
		}
		if !bytes.HasSuffix(arg, []byte("\r\n")) {
			return nil, fmt.Errorf("%w: a bulk string of %d bytes does not end in CRLF", errProtocol, size)
		}
		args = append(args, arg[:size])
	}
	return args, nil
}

// readLength reads a line of a kind and a number.
func readLength(r *bufio.Reader, kind byte) (int, error) {
	line, err := r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return 0, fmt.Errorf("%w: too big a line; a line has at most %d bytes", errProtocol, lineMost)
	}
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("%w: expected '%c', got %q; send commands as RESP arrays", errProtocol, kind, line[0])
	}
	n, err := strconv.Atoi(string(bytes.TrimSuffix(line[1:], []byte("\r\n"))))
	if err != nil {
		return 0, fmt.Errorf("%w: invalid length %.20q; send a decimal number", errProtocol, line[1:])
	}
	return n, nil
}

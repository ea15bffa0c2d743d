// Package admin is the Unix socket in the data folder at which a running server answers local commands: the protocol with its limits, and
// which users may use it. The server and the commands give the requests their meaning.
package admin

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"ledge/cmd/internal/datadir"
	"ledge/cmd/internal/exit"
	"ledge/domain"
)

// The limits of the socket.
const (
	connections  = 16
	longRequests = 12 // connections of long requests, so that four are left for the short ones
	requestBytes = 64 << 10
	timeout      = 30 * time.Second // for a request, and for the client to read an answer
)

// Handler answers the request of an actor, such as "cli:anna". It may send answers before the one that it returns.
type Handler func(ctx context.Context, actor string, r Request, send func(Answer) error) (Answer, error)

// APIs returns the REST APIs in the name of an actor. The host of a request is the name of a service.
type APIs func(actor string) http.Handler

// Socket is the socket of a running server.
type Socket struct {
	listener *net.UnixListener
	folder   *os.File // holds the short path of the socket; nil on systems that need none
	answer   Handler
	apis     APIs
	logger   *slog.Logger
	running  sync.WaitGroup
	lasting  chan struct{}   // a token for each long request
	ctx      context.Context // of long requests; close waits for the others
	stop     context.CancelFunc
}

// Available says whether this system has the socket. On Windows a file mode does not keep other users away from it.
const Available = runtime.GOOS != "windows"

// Open listens in the data folder dir. answer answers the requests, and apis serves the REST APIs. Open replaces a socket after a crash.
// The caller
// has the lock of the folder.
func Open(dir string, logger *slog.Logger, answer Handler, apis APIs) (*Socket, error) {
	if err := os.Remove(filepath.Join(dir, datadir.AdminSocketFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	path, folder, err := socketPath(dir)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		if err = os.Chmod(filepath.Join(dir, datadir.AdminSocketFile), 0o600); err != nil {
			l.Close()
		}
	}
	if err != nil {
		folder.Close() // nil is an error that says nothing
		return nil, err
	}
	s := &Socket{listener: l, folder: folder, answer: answer, apis: apis, logger: logger, lasting: make(chan struct{}, longRequests)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.running.Go(s.serve)
	return s, nil
}

func (s *Socket) serve() {
	places := make(chan struct{}, connections)
	for {
		places <- struct{}{}
		c, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			s.logger.Warn("the socket for local commands such as ledge user and ledge log does not answer any more; restart to have it again", "error", err)
			return
		}
		s.running.Go(func() {
			defer func() { <-places }()
			defer c.Close()
			if err := s.handle(c); err != nil {
				s.logger.Debug("a request at the admin socket failed", "error", err)
			}
		})
	}
}

// handle answers one connection.
func (s *Socket) handle(c *net.UnixConn) error {
	if err := c.SetDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	uid, err := findPeer(c)
	if err != nil {
		return err
	}
	if uid != os.Getuid() && uid != 0 {
		allowed := slices.Compact([]string{ownName(), "root"})
		return json.NewEncoder(c).Encode(Answer{Error: fmt.Sprintf("the user %s may not use the local commands of this server; run the command as %s", userName(uid), strings.Join(allowed, " or "))})
	}
	first := bufio.NewReaderSize(c, 16)
	begin, _ := first.Peek(1)
	isHTTP := len(begin) > 0 && begin[0] >= 'A' && begin[0] <= 'Z' // such as GET; a request of a command begins with {
	r := Request{Do: doAPI}
	if !isHTTP {
		if r, err = readRequest(first); err != nil {
			return json.NewEncoder(c).Encode(Answer{Error: fmt.Sprintf("the request is no JSON object of at most %d bytes", requestBytes)})
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if r.isLong() {
		select {
		case s.lasting <- struct{}{}:
			defer func() { <-s.lasting }()
		default:
			says := fmt.Sprintf("%d commands such as `ledge log -f` are connected, and more are not allowed; end one of them", longRequests)
			if isHTTP {
				_, err := fmt.Fprintf(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n%s\n", says)
				return err
			}
			return json.NewEncoder(c).Encode(Answer{Error: says})
		}
		if r.Do == doAPI {
			if !isHTTP {
				if err := json.NewEncoder(c).Encode(Answer{}); err != nil {
					return err
				}
			}
			return s.serveAPI(bufferedConn{c, first}, withProfiles(s.apis("cli:"+userName(uid))))
		}
		defer context.AfterFunc(s.ctx, cancel)()
		if err := c.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
		go func() { // until the client goes away, or c is closed here
			_, _ = io.Copy(io.Discard, c)
			cancel()
		}()
	}
	send := func(a Answer) error {
		if err := c.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
			return err
		}
		return json.NewEncoder(c).Encode(a)
	}
	var a Answer
	failed := domain.Try(func() { a, err = s.answer(ctx, "cli:"+userName(uid), r, send) })
	if err = cmp.Or(failed, err); err != nil {
		a = Answer{Error: err.Error(), Away: domain.CodeOf(err) == domain.Unavailable}
		if e, ok := errors.AsType[exit.Error](err); ok {
			a.Code = e.Code
		}
	}
	return send(a)
}

// readRequest reads the request of a command.
func readRequest(from io.Reader) (r Request, err error) {
	err = json.NewDecoder(io.LimitReader(from, requestBytes)).Decode(&r)
	return r, err
}

// Close stops accepting, cancels long requests such as `ledge log -f`, answers the others and removes the socket.
func (s *Socket) Close() {
	s.listener.Close()
	s.stop()
	s.running.Wait()
	s.folder.Close() // nil is an error that says nothing
}

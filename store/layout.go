package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"ledge/store/natsblock"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// layoutStream is there only while a start tests the layout of block files.
const layoutStream = "LEDGE_SELFTEST"

// removeLayoutStream removes what is left of a test. The server puts a dot before the name of a stream that it removes, and says that it is
// unwell while the folder is there.
func (o Options) removeLayoutStream() error {
	return errors.Join(os.RemoveAll(streamDir(o.Dir, layoutStream)), os.RemoveAll(streamDir(o.Dir, "."+layoutStream)))
}

// testLayout proves that the server has written what it acknowledges to the block file that is synced for each group. It returns natsblock.ErrLayout
// if the message is not there. If the disk is full or the server cannot write, nothing can be acknowledged and nothing is proved; then
// [natsblock.Files.SyncGroup] still holds that the files grow with the first group.
func (s *Store) testLayout(ctx context.Context) error {
	if free, err := s.o.FreeBytes(s.o.Dir); err == nil && free < uint64(s.o.ReserveBytes) {
		return nil
	}
	err := s.node.testLayout(ctx, s.o)
	if err == nil || errors.Is(err, natsblock.ErrLayout) || ctx.Err() != nil {
		return err
	}
	s.o.Logger.Warn("the layout of the block files is not tested, because nothing can be written", "error", err)
	s.node.close() // as after any failed write
	s.node, err = startNode(ctx, s.o)
	return err
}

func (n *node) testLayout(ctx context.Context, o Options) (err error) {
	ctx, cancel := context.WithTimeout(ctx, o.AckTimeout)
	defer cancel()
	const subject = appendPrefix + "selftest"
	c := server.StreamConfig{Name: layoutStream, Subjects: []string{subject}, Storage: server.FileStorage, Replicas: 1, MaxMsgs: -1, MaxBytes: -1}
	if _, err := callStream(ctx, n.write, "CREATE", layoutStream, c); err != nil {
		return err
	}
	defer func() {
		_, derr := n.write.RequestWithContext(ctx, streamAPI+"DELETE."+layoutStream, nil)
		err = errors.Join(err, derr, o.removeLayoutStream())
	}()
	m := &nats.Msg{Subject: subject, Header: nats.Header{headerFence: {"0"}}, Data: bytes.Repeat([]byte("ledge"), 100)} // all events have headers
	ack, err := n.write.RequestMsgWithContext(ctx, m)
	if err != nil {
		return fmt.Errorf("stream %s: append: %w", layoutStream, err)
	}
	if !isAck(ack.Data, layoutStream, 1) {
		return fmt.Errorf("stream %s: append: %s", layoutStream, ack.Data)
	}
	files := natsblock.FilesOf(o.streamDir(o.Dir, layoutStream))
	r, rerr := files.First(1)
	found := false
	if rerr == nil {
		_, _, data := r.Parts()
		found = r.Seq() == 1 && bytes.Equal(data, m.Data)
	}
	if !found {
		return fmt.Errorf("%w: a message that it acknowledged is not in %s (%v); "+
			"the NATS server in this build writes another layout than Ledge knows: use a released build", natsblock.ErrLayout, files.Dir, rerr)
	}
	return nil
}

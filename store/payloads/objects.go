package payloads

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go/jetstream"
)

// chunkBytes is in how large messages an object store has an object: with the default of 128 KiB all takes twice as long.
const chunkBytes = 1 << 20

// ObjectOptions configures [OpenObjects].
type ObjectOptions struct {
	// Bucket names the object store.
	Bucket string
	// Replicas of each message in the cluster; 0 is 1.
	Replicas int
	// MaxBytes bounds the bucket; 0 for no limit.
	MaxBytes int64
	// AbandonedAfter is the age at which the parts of an upload that has no end yet are taken for those of a process that
	// died. It must be longer than an upload may go without a chunk's worth of bytes.
	AbandonedAfter time.Duration
}

// Objects keeps payloads in an object store of a NATS cluster, so that all of several processes can read them. Its holds
// are those of this process: of several that put, one collects, while none of the others puts.
//
// No setting leads here yet: a Ledge with its log in an external cluster is still to come.
type Objects struct {
	holds
	bucket string
	o      ObjectOptions
	store  jetstream.ObjectStore
	stream jetstream.Stream

	naming sync.Mutex // held while an upload takes its name: of two with one content, one must see the other
}

// OpenObjects makes the bucket where there is none.
func OpenObjects(ctx context.Context, js jetstream.JetStream, o ObjectOptions) (*Objects, error) {
	config := jetstream.ObjectStoreConfig{Bucket: o.Bucket, Description: "posted bodies, by SHA-256", Replicas: max(o.Replicas, 1), Storage: jetstream.FileStorage}
	if o.MaxBytes > 0 {
		config.MaxBytes = o.MaxBytes
	}
	store, err := js.CreateOrUpdateObjectStore(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("object store %s: %w", o.Bucket, err)
	}
	stream, err := js.Stream(ctx, "OBJ_"+o.Bucket)
	if err != nil {
		return nil, fmt.Errorf("object store %s: %w", o.Bucket, err)
	}
	return &Objects{holds: newHolds(), bucket: o.Bucket, o: o, store: store, stream: stream}, nil
}

// The subjects of an object: that of its chunks, by the id that the object store gave it, and that of its description.
func (s *Objects) chunks(id string) string { return "$O." + s.bucket + ".C." + id }

func (s *Objects) description(name string) string {
	return "$O." + s.bucket + ".M." + base64.URLEncoding.EncodeToString([]byte(name))
}

// upload is how the name of an object begins whose digest is not known yet.
const upload = "incoming-"

// Put implements Payloads. One chunk is in memory.
func (s *Objects) Put(ctx context.Context, r io.Reader, limit int64) (digest string, size int64, err error) {
	meta := jetstream.ObjectMeta{Name: upload + uuid.NewString(), Opts: &jetstream.ObjectMetaOptions{ChunkSize: chunkBytes}}
	whole := context.WithoutCancel(ctx) // the end of ctx fails the reader, after which the chunks are removed
	info, err := s.store.Put(whole, meta, &chunked{r: reader{ctx, r}, left: limit, limit: limit})
	if err != nil {
		return "", 0, fmt.Errorf("keep payload: %w", err)
	}
	if digest, err = hexDigest(info.Digest); err != nil {
		return "", 0, errors.Join(fmt.Errorf("keep payload: %w", err), s.remove(whole, meta.Name))
	}
	s.hold(digest)
	if err := s.name(whole, meta.Name, digest); err != nil {
		s.Release(digest, false)
		return "", 0, errors.Join(fmt.Errorf("keep payload: %w", err), s.remove(whole, meta.Name))
	}
	return digest, int64(info.Size), nil
}

// hexDigest is the digest of an object as payloads are named.
func hexDigest(digest string) (string, error) {
	text, ok := strings.CutPrefix(digest, "SHA-256=")
	sum, err := base64.URLEncoding.DecodeString(text)
	if !ok || err != nil {
		return "", fmt.Errorf("digest %q of the object store is no SHA-256", digest)
	}
	return hex.EncodeToString(sum), nil
}

// name gives an upload its name, or removes it where its content is there already.
func (s *Objects) name(ctx context.Context, from, to string) error {
	s.naming.Lock()
	defer s.naming.Unlock()
	err := s.store.UpdateMeta(ctx, from, jetstream.ObjectMeta{Name: to})
	if errors.Is(err, jetstream.ErrObjectAlreadyExists) {
		return s.remove(ctx, from)
	}
	return err
}

// remove leaves nothing of an object, also not the note of its end that an object store keeps.
func (s *Objects) remove(ctx context.Context, name string) error {
	err := s.store.Delete(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.stream.Purge(ctx, jetstream.WithPurgeSubject(s.description(name)))
}

// Get implements Payloads. What is collected while it is open fails to be read on.
func (s *Objects) Get(digest string) (io.ReadSeekCloser, error) {
	ctx, cancel := context.WithCancel(context.Background())
	o, err := s.open(ctx, digest)
	if err != nil {
		cancel()
		return nil, err
	}
	o.cancel = cancel
	return o, nil
}

func (s *Objects) open(ctx context.Context, digest string) (*object, error) {
	info, err := s.store.GetInfo(ctx, digest)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, fmt.Errorf("payload %s: %w", digest, fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("payload %s: %w", digest, err)
	}
	return &object{ctx: ctx, stream: s.stream, subject: s.chunks(info.NUID), size: int64(info.Size), chunk: int64(info.Opts.ChunkSize)}, nil
}

// Collect implements Payloads. It removes abandoned uploads too, and does not count them.
func (s *Objects) Collect(ctx context.Context, keep func(digest string) (bool, error)) (removed int, err error) {
	list, err := s.store.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return 0, fmt.Errorf("list payloads: %w", err)
	}
	var digests []string
	for _, info := range list {
		if isDigest(info.Name) {
			digests = append(digests, info.Name)
		} else if err := s.abandon(ctx, info); err != nil {
			return 0, err
		}
	}
	if err := s.removeParts(ctx); err != nil {
		return 0, err
	}
	return s.collect(ctx, digests, keep, func(digest string) error { return s.remove(ctx, digest) })
}

// abandon removes an upload that was whole but has no name yet, if it is old.
func (s *Objects) abandon(ctx context.Context, info *jetstream.ObjectInfo) error {
	if !strings.HasPrefix(info.Name, upload) || time.Since(info.ModTime) < s.o.AbandonedAfter {
		return nil
	}
	return s.remove(ctx, info.Name)
}

// removeParts removes the chunks of uploads that have no description, if they are old.
func (s *Objects) removeParts(ctx context.Context) error {
	all, err := s.stream.Info(ctx, jetstream.WithSubjectFilter(s.chunks("*")))
	if err != nil {
		return fmt.Errorf("list payloads: %w", err)
	}
	list, err := s.store.List(ctx) // after the chunks: what is whole by now is in it
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return fmt.Errorf("list payloads: %w", err)
	}
	for _, info := range list {
		delete(all.State.Subjects, s.chunks(info.NUID))
	}
	for subject := range all.State.Subjects {
		last, err := s.stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		if err == nil && time.Since(last.Time) >= s.o.AbandonedAfter {
			err = s.stream.Purge(ctx, jetstream.WithPurgeSubject(subject))
		}
		if err != nil {
			return fmt.Errorf("remove an abandoned upload: %w", err)
		}
	}
	return nil
}

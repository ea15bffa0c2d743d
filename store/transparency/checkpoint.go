package transparency

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"ledge/domain"
)

// KeyName is the name of the key that signs checkpoints, the seed of an Ed25519 key, in the secret store.
const KeyName = "checkpoints"

// Origin returns the origin of the checkpoints of a data folder with an id. It does not follow the name of the machine, so that the log
// stays the same log if the machine is renamed.
func Origin(node string) string { return "ledge/" + node }

// Checkpoint is the head of a tree, as C2SP tlog-checkpoint has it.
type Checkpoint struct {
	Origin string
	Size   int64
	Root   tlog.Hash
}

// text returns the text that is signed.
func (c Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\n", c.Origin, c.Size, base64.StdEncoding.EncodeToString(c.Root[:]))
}

// ParseCheckpoint reads the text of a checkpoint, signed or not. Signatures are not checked; see [OpenCheckpoint].
func ParseCheckpoint(text string) (c Checkpoint, err error) {
	lines := strings.SplitN(text, "\n", 4)
	if len(lines) < 4 || lines[0] == "" {
		return c, fmt.Errorf("%.80q is not a checkpoint; it has an origin, a size and a hash, on a line each", text)
	}
	c.Origin = lines[0]
	if c.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil || c.Size < 0 || strconv.FormatInt(c.Size, 10) != lines[1] {
		return c, fmt.Errorf("checkpoint: its size %.80q is not a decimal number", lines[1])
	}
	if c.Root, err = tlog.ParseHash(lines[2]); err != nil {
		return c, fmt.Errorf("checkpoint: its hash %.80q is not the base64 of 32 bytes", lines[2])
	}
	return c, nil
}

// OpenCheckpoint reads a signed checkpoint, and checks that the owner of a verifier key has signed it.
func OpenCheckpoint(text, verifierKey string) (c Checkpoint, err error) {
	v, err := note.NewVerifier(verifierKey)
	if err != nil {
		return c, fmt.Errorf("%.80q is not a verifier key: %w; `ledge key` prints the key of a node", verifierKey, err)
	}
	n, err := note.Open([]byte(text), note.VerifierList(v))
	if err != nil {
		return c, fmt.Errorf("checkpoint: it is not signed by %s: %w", verifierKey, err)
	}
	if c, err = ParseCheckpoint(n.Text); err == nil && c.Origin != v.Name() {
		err = fmt.Errorf("checkpoint: its origin is %.80q, and the key is of %.80q", c.Origin, v.Name())
	}
	return c, err
}

// Key signs the checkpoints of one origin.
type Key struct {
	signer   note.Signer
	verifier string
}

// NewKey returns the key of an origin, made of a seed of 32 bytes.
func NewKey(origin string, seed []byte) (*Key, error) {
	private := ed25519.NewKeyFromSeed(seed)
	verifier, err := note.NewEd25519VerifierKey(origin, private.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, fmt.Errorf("key of checkpoints: %w", err)
	}
	named, _, _ := strings.Cut(verifier[len(origin)+1:], "+") // name+hash+key
	secret := base64.StdEncoding.EncodeToString(append([]byte{1}, seed...))
	signer, err := note.NewSigner("PRIVATE+KEY+" + origin + "+" + named + "+" + secret)
	if err != nil {
		return nil, fmt.Errorf("key of checkpoints: %w", err)
	}
	return &Key{signer, verifier}, nil
}

// Verifier returns the verifier key: the origin, a hash and the public key, with + between them.
func (k *Key) Verifier() string { return k.verifier }

// Sign returns a signed checkpoint.
func (k *Key) Sign(c Checkpoint) (string, error) {
	text, err := note.Sign(&note.Note{Text: c.text()}, k.signer)
	return string(text), err
}

// Log is a tree with the key that signs its checkpoints: the two that clients of C2SP tlog-tiles need.
type Log struct {
	*Tree
	Key *Key

	mu   sync.Mutex
	last string // the newest checkpoint
	size int64  // of it
}

// Checkpoint returns a signed checkpoint of all events that were recorded before the call.
func (l *Log) Checkpoint(ctx context.Context) (string, error) {
	size := l.Size()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != "" && size <= l.size {
		return l.last, nil
	}
	if l.Key == nil {
		return "", domain.Errorf(domain.Full,
			"checkpoints cannot be signed: the disk was full when their key was to be made; free some space and start again")
	}
	root, err := l.Root(ctx, size)
	if err != nil {
		return "", err
	}
	text, err := l.Key.Sign(Checkpoint{l.Key.signer.Name(), size, root})
	if err != nil {
		return "", err
	}
	l.last, l.size = text, size
	return text, nil
}

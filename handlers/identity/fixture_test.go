package identity

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"ledge/domain"
)

// cheap are parameters for tests that compute thousands of hashes.
var cheap = &argon2id.Params{Memory: 8, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}

// world has users, tokens and credentials in memory, as the folded state and the secret store have them.
type world struct {
	mu     sync.Mutex
	users  map[string]domain.User
	tokens map[string]domain.Token
	hashes map[string]string
	// looked is called at each look-up of a user's hash.
	looked func()
}

func newWorld() *world {
	return &world{users: map[string]domain.User{}, tokens: map[string]domain.Token{}, hashes: map[string]string{}}
}

func (w *world) User(name string) (domain.User, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, ok := w.users[name]
	return u, ok
}

func (w *world) Token(name string) (domain.Token, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.tokens[name]
	return t, ok
}

func (w *world) Credential(id string) (string, bool) {
	w.mu.Lock()
	looked := w.looked
	hash, ok := w.hashes[id]
	w.mu.Unlock()
	if looked != nil {
		looked()
	}
	return hash, ok
}

func (w *world) PutCredential(id, hash string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hashes[id] = hash
	return nil
}

func (w *world) mustUser(tb testing.TB, name, password string, role domain.Role, credential string) {
	tb.Helper()
	hash, err := argon2id.CreateHash(password, cheap)
	if err != nil {
		tb.Fatal(err)
	}
	_ = w.PutCredential(credential, hash)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.users[name] = domain.User{Name: name, Role: role, Credential: credential}
}

func (w *world) addToken(t domain.Token) (token string) {
	token, hash := NewToken(t.Name)
	w.mu.Lock()
	defer w.mu.Unlock()
	t.Credential = "t-" + t.Name
	w.tokens[t.Name], w.hashes[t.Credential] = t, hash
	return token
}

var loginKey = sha256.New().Sum([]byte("a key for tests, not a secret one"))

// mustNew returns an Authenticator with cheap hashes, and its log.
func mustNew(tb testing.TB, w *world, change func(*Options)) (*Authenticator, *lines) {
	tb.Helper()
	log := &lines{}
	o := Options{Directory: w, Credentials: w, LoginKey: loginKey, Logger: slog.New(slog.NewTextHandler(log, nil))}
	if change != nil {
		change(&o)
	}
	return newAuthenticator(o, newTurns(testComputing), cheap), log
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func wantCode(tb testing.TB, what string, err error, want domain.Code) {
	tb.Helper()
	if err == nil || domain.CodeOf(err) != want {
		tb.Errorf("%s: got %v (code %d), want code %d", what, err, domain.CodeOf(err), want)
	}
}

func hexOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// at is a time that tests start from.
var at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// testComputing is how many passwords are computed at once in tests.
const testComputing = 2

package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"ledge/domain"
)

// The bounds of the keys of an issuer.
const (
	maxKeysBytes  = 1 << 20
	mostKeys      = 100
	fetchTime     = 10 * time.Second
	fetchInterval = time.Hour   // while all is well
	fetchPause    = time.Minute // the least time between two fetches
)

// keys are the public keys of an issuer. They are fetched in the background. After a failure the last ones stay.
type keys struct {
	o      JWT
	logger *slog.Logger
	last   atomic.Pointer[[]jose.JSONWebKey]
	wanted chan struct{} // an unknown key was asked for
}

func newKeys(o JWT, logger *slog.Logger) *keys {
	return &keys{o: o, logger: logger, wanted: make(chan struct{}, 1)}
}

// Run fetches the keys of the issuer of JWTs, if there is one, until ctx ends. It returns the error of ctx.
func (a *Authenticator) Run(ctx context.Context) error {
	if a.issuer != nil {
		a.issuer.keys.run(ctx)
	}
	<-ctx.Done()
	return ctx.Err()
}

func (k *keys) run(ctx context.Context) {
	for ctx.Err() == nil {
		interval := fetchInterval
		if err := k.fetch(ctx); err != nil && ctx.Err() == nil {
			interval = fetchPause
			k.logger.Warn("keys of the JWT issuer cannot be read", "issuer", k.o.Issuer, "error", err, "nextTry", interval)
		}
		if sleep(ctx, fetchPause) != nil {
			return
		}
		k.await(ctx, interval-fetchPause)
	}
}

// await waits until an unknown key is asked for, for a time at most.
func (k *keys) await(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-k.wanted:
	case <-ctx.Done():
	}
}

// find returns the key with an id. Without an id the only key is meant.
func (k *keys) find(id, algorithm string) (jose.JSONWebKey, error) {
	last := k.last.Load()
	if last == nil {
		return jose.JSONWebKey{}, soon(domain.Errorf(domain.Unavailable, "the keys of the JWT issuer are not known yet; try again"), int(fetchPause/time.Second))
	}
	for _, key := range *last {
		named := key.KeyID == id || id == "" && len(*last) == 1
		if named && (key.Algorithm == "" || key.Algorithm == algorithm) {
			return key, nil
		}
	}
	select {
	case k.wanted <- struct{}{}:
	default:
	}
	return jose.JSONWebKey{}, errJWT("it is signed with a key that Ledge does not know; if the issuer has a new key, try again in a minute")
}

// fetch replaces the keys by those of the issuer now.
func (k *keys) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	select {
	case <-k.wanted: // this fetch is for it
	default:
	}
	source, err := k.discover(ctx)
	if err != nil {
		return err
	}
	text, err := k.read(ctx, source)
	if err != nil {
		return err
	}
	found, err := parseKeys(text)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	if k.last.Swap(&found) == nil {
		k.logger.Info("keys of the JWT issuer read", "issuer", k.o.Issuer, "keys", len(found))
	}
	return nil
}

// discover returns the URL of the keys, by OpenID Connect Discovery 1.0.
func (k *keys) discover(ctx context.Context) (string, error) {
	at := strings.TrimSuffix(k.o.Issuer, "/") + "/.well-known/openid-configuration"
	text, err := k.read(ctx, at)
	if err != nil {
		return "", err
	}
	var found struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return "", fmt.Errorf("%s: %w", at, err)
	}
	if found.Issuer != k.o.Issuer {
		return "", fmt.Errorf("%s: issuer is %.200q; correct the setting jwt-issuer, which is %q", at, found.Issuer, k.o.Issuer)
	}
	if err := CheckURL(found.JWKS); err != nil {
		return "", fmt.Errorf("%s: jwks_uri %.200q: %w", at, found.JWKS, err)
	}
	return found.JWKS, nil
}

// read reads a URL.
func (k *keys) read(ctx context.Context, source string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, err
	}
	answer, err := k.o.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: answers %s", source, answer.Status)
	}
	return readAll(answer.Body, source)
}

func readAll(r io.Reader, source string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxKeysBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	if len(text) > maxKeysBytes {
		return nil, fmt.Errorf("%s: is longer than %d bytes", source, maxKeysBytes)
	}
	return text, nil
}

// parseKeys returns the keys of a JWKS that can verify signatures. It skips all others.
func parseKeys(text []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("is no JWKS: %w", err)
	}
	if len(set.Keys) > mostKeys {
		return nil, fmt.Errorf("has %d keys; at most %d are read", len(set.Keys), mostKeys)
	}
	var found []jose.JSONWebKey
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(text) == nil && verifies(key) {
			found = append(found, key)
		}
	}
	if len(found) == 0 {
		return nil, errors.New("has no public key for signatures; RSA of 2048 to 8192 bits, EC and Ed25519 are used")
	}
	return found, nil
}

// verifies reports whether a key is public and for signatures, and neither weak nor slow.
func verifies(key jose.JSONWebKey) bool {
	if key.Use == "enc" || !key.Valid() {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() >= 2048 && k.N.BitLen() <= 8192
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	default:
		return false
	}
}

// CheckURL holds that keys come over TLS, or from this machine: whoever could change them on their way could be anybody.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return errors.New("is no URL; use one such as https://id.example.org/realms/plant")
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return nil
	}
	return errors.New("use https://; only an address of this machine may have http://")
}

package ledgetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// client changes entities of its own names, one request at a time, and remembers what it was answered.
type client struct {
	id     int
	random *rand.Rand
	kinds  []kind // devices, subscriptions
	http   *http.Client

	mu       sync.Mutex
	pasts    []map[string]*past // by kind and name
	readings map[string]bool    // what was posted: a number, or the SHA-256 of a body; true where it was acknowledged
	last     []change           // of the request in work
	counter  int
}

// change is one element of a request.
type change struct {
	name  string
	past  *past
	state int
}

// Each client has so many devices and so many subscriptions.
var namesOf = []int{8, 1}

// ImageWords of 4 bytes or more make a body that is kept beside the log.
const ImageWords = 70_000

func newClient(id int, seed uint64, port int) *client {
	c := &client{
		id: id, random: rand.New(rand.NewPCG(seed, uint64(id))), kinds: []kind{devices, subscriptions(port)},
		http: &http.Client{Timeout: Timeout}, readings: map[string]bool{},
	}
	for k, n := range namesOf {
		c.pasts = append(c.pasts, map[string]*past{})
		for i := range n {
			c.pasts[k][fmt.Sprintf("%s-%d-%d", c.kinds[k].name, id, i)] = newPast()
		}
	}
	return c
}

// Refusal is an answer with another status than success.
type Refusal struct{ Answer }

func (r Refusal) Error() string { return fmt.Sprintf("refused: %d %s", r.Status, r.Body) }

// step sends one request. The error is a refusal, or says that there was no answer.
func (c *client) step(p *Node) error {
	switch n := c.random.IntN(20); {
	case n < 4:
		return c.postNumber(p)
	case n < 6:
		return c.postImage(p)
	case n < 9:
		return c.change(p, 1)
	default:
		return c.change(p, 0)
	}
}

// change adds, patches or deletes some of the entities of a kind, several in one request.
func (c *client) change(p *Node, k int) error {
	names := slices.Sorted(maps.Keys(c.pasts[k]))
	c.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	there := c.pasts[k][names[0]].now() != 0
	if there && c.random.IntN(4) == 0 {
		return c.delete(p, k, names[0])
	}
	method, element := http.MethodPost, c.kinds[k].add
	if there {
		method, element = http.MethodPatch, c.kinds[k].patch
	}
	var changes []change
	var body []string
	for _, name := range names[:1+c.random.IntN(min(5, len(names)))] {
		if one := c.pasts[k][name]; (one.now() != 0) == there {
			c.counter++
			changes = append(changes, change{name, one, c.counter})
			body = append(body, element(name, c.counter))
		}
	}
	return c.send(p, changes, method, c.kinds[k].url(p), "["+strings.Join(body, ",")+"]")
}

func (c *client) delete(p *Node, k int, name string) error {
	return c.send(p, []change{{name, c.pasts[k][name], 0}}, http.MethodDelete, c.kinds[k].url(p)+"/name/"+name, "")
}

// send notes what is asked for, asks, and notes what was acknowledged.
func (c *client) send(p *Node, changes []change, method, url, body string) error {
	c.note(func() {
		c.last = changes
		for _, one := range changes {
			one.past.ask(one.state)
		}
	})
	a, err := c.do(method, url, "application/json", body)
	if err != nil {
		return err
	}
	ok := Statuses(a)
	c.note(func() {
		for i, one := range changes {
			if i < len(ok) && ok[i] < 300 {
				one.past.ack()
			}
		}
	})
	if len(ok) != len(changes) || slices.Max(ok) >= 300 {
		return Refusal{a}
	}
	return nil
}

// Statuses returns the status of each element of an answer.
func Statuses(a Answer) []int {
	if a.Status != http.StatusMultiStatus {
		return []int{a.Status}
	}
	var items []struct{ StatusCode int }
	_ = json.Unmarshal([]byte(a.Body), &items)
	var all []int
	for _, item := range items {
		all = append(all, item.StatusCode)
	}
	return all
}

func (c *client) postNumber(p *Node) error {
	c.note(func() { c.counter++ })
	value := strconv.Itoa(c.id*1_000_000_000 + c.counter)
	return c.post(p, "sample-numeric/int", "text/plain", value, value)
}

// postImage posts what is kept beside the log.
func (c *client) postImage(p *Node) error {
	c.note(func() { c.counter++ })
	body := strings.Repeat(fmt.Sprintf("%d-%d ", c.id, c.counter), ImageWords)
	sum := sha256.Sum256([]byte(body))
	return c.post(p, "sample-image/jpeg", "image/jpeg", body, hex.EncodeToString(sum[:]))
}

func (c *client) post(p *Node, resource, contentType, body, key string) error {
	c.note(func() { c.readings[key] = false })
	a, err := c.do(http.MethodPost, p.DeviceREST+"/api/v2/resource/"+resource, contentType, body)
	if err != nil {
		return err
	}
	if a.Status != http.StatusOK {
		return Refusal{a}
	}
	c.note(func() { c.readings[key] = true })
	return nil
}

func (c *client) note(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func (c *client) do(method, url, contentType, body string) (Answer, error) {
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := c.http.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return Answer{resp.StatusCode, string(b), resp.Header}, err
}

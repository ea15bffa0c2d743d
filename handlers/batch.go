package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/gin-gonic/gin"

	"ledge/domain"
	"ledge/domain/fastjson"
	"ledge/handlers/faults"
	"ledge/handlers/jsonform"
)

// Order is what one element of a batch asks for.
type Order struct {
	Command domain.Command
	// ID is the id of the entity that Command adds, answered with 201. Without one the answer is 200, or, where Command
	// adds a part of an entity or an entity without an id, 201 too.
	ID       string
	AddsPart bool
	// Token is the text of the token that Command adds. The answer has it, and nothing else.
	Token string
	// Note is said with a success, "" for nothing.
	Note string
	// Problems are what is wrong with the entity on its own; their paths start below it.
	Problems domain.Problems
	// Refused, where there is one, is the element's answer, and nothing is submitted for it.
	Refused error
	// Ask, where there is one, asks somebody outside before Command is submitted. An error is the element's answer, and
	// nothing is submitted for it. The elements of a request are asked about at once, some at a time.
	Ask func(ctx context.Context, by domain.Stamp) error
	// Names are hosts that are looked up before Reserve, those of all elements at once.
	Names []string
	// Reserve, where there is one, takes hold of what Command needs outside the log before it is submitted. An error
	// is the element's answer, and nothing is submitted for it. done is called once: with the sequence at which
	// Command was recorded, or with 0 where it was not.
	Reserve func() (done func(seq uint64), err error)

	requestID string // of the element
	bytes     int    // of the element
	ignored   string // message about keys of the element
}

// head is met by a pointer to a struct that embeds Head.
type head[E any] interface {
	*E
	RequestHead() *Head
}

// Batch serves a JSON array of elements that hold a Head and an entity, under the key of that name; with an empty name
// the paths of an Order's problems start at the element.
//
// As in EdgeX 2.3 it checks every element first: with any malformed one the whole request is answered with 400, all
// problems in one message, and nothing is written. What depends on the state is answered for each element in a 207,
// in their order, and so is an element that is too large. A request of one element may have If-Match; where that fails, the whole request is
// answered with 412. A POST with an Idempotency-Key that is sent again gets the answers of before. order makes an element's command, in which
// e is not kept; at is the time of the request in milliseconds since the Unix epoch.
func Batch[E any, H head[E]](a *API, log Submitter, entity string, order func(e *E, at int64) Order) Handler {
	codec := fastjson.Of[E]()
	return serveBatch(a, log, entity, reflect.TypeFor[E](), func() elements {
		e := new(E)
		return elements{
			decode: func(text []byte) error { *e = *new(E); return codec.Unmarshal(text, e) },
			head:   func() Head { return *H(e).RequestHead() },
			order:  func(at int64) Order { return order(e, at) },
		}
	})
}

// BatchOf is [Batch] for elements that have an entity, or the patch of one, beside their head. order does not keep x.
func BatchOf[X any](a *API, log Submitter, w Wrapper[X], order func(x X, at int64) Order) Handler {
	return serveBatch(a, log, w.key, w.shape, func() elements {
		v := reflect.New(w.shape).Elem()
		return elements{
			decode: func(text []byte) error { v.SetZero(); return w.reader.Unmarshal(text, v) },
			head:   func() Head { return headOf(v) },
			order:  func(at int64) Order { return order(w.read(w.entity(v)), at) },
		}
	})
}

// elements reads the elements of one request, one after the other. head and order are those of the element that was decoded last.
type elements struct {
	decode func(text []byte) error
	head   func() Head
	order  func(at int64) Order
}

// serveBatch serves elements of which the JSON has a shape.
func serveBatch(a *API, log Submitter, entity string, shape reflect.Type, newElements func() elements) Handler {
	return func(c *gin.Context) {
		key, err := a.Key(c)
		if err != nil {
			a.Fail(c, err)
			return
		}
		body := bodyBuffers.get() // what is decoded of it is a copy
		defer bodyBuffers.put(body)
		if err := a.ReadInto(c, body, a.BodyBytes); err != nil {
			a.Fail(c, err)
			return
		}
		data := body.Bytes()
		b := batch{api: a, entity: entity, stamp: a.origin(c)}
		room := a.EntryMemory(c)
		defer room.Release()
		at, e := b.stamp.At.UnixMilli(), newElements()
		err = decodeBatch(a, e.decode, data, room.Hold, func(i int, element []byte, mistyped *json.UnmarshalTypeError) {
			place := fmt.Sprintf("[%d]", i)
			if mistyped != nil {
				jsonform.AddMistyped(&b.problems, place, element, mistyped)
				return
			}
			if string(element) == "null" {
				b.problems.Add(place, "is null; give an object")
				return
			}
			b.problems = append(b.problems, jsonform.FindNulls(element, place, shape)...)
			unknown := jsonform.FindUnknown(element, "", shape)
			o := e.order(at)
			if len(o.Problems) > 0 && entity != "" {
				if p := jsonform.FindMisnamed(element, entity); len(p) > 0 {
					b.problems.In(place, p)
					o.Problems, unknown.Misspelled = nil, nil
				}
			}
			b.problems.In(place, unknown.Misspelled)
			o.bytes, o.ignored = len(element), unknown.Message()
			b.add(i, e.head(), o)
		}, func(i int, h Head, err error) { b.add(i, h, Order{Refused: err}) })
		if err == nil {
			err = b.problems.Err()
		}
		if err == nil {
			err = b.onlyIf(c.Request.Header)
		}
		if err != nil {
			a.Fail(c, err)
			return
		}
		if key != "" {
			b.key = a.keyOf(c, key, sha256.Sum256(data), b.stamp)
		}
		b.serve(c, log)
	}
}

// batch is one request on its way.
type batch struct {
	api      *API
	entity   string       // the key of the entities; "" if the elements are the entities
	stamp    domain.Stamp // less the id of an event, which each element has its own
	key      *domain.Key  // of the whole request, nil for none
	problems domain.Problems
	orders   []Order
}

// place returns the path of the entity of an element.
func (b *batch) place(i int) string {
	return strings.TrimSuffix(fmt.Sprintf("[%d].%s", i, b.entity), ".")
}

// add notes an element. Once there are problems nothing will be submitted, so that no more is kept than these.
func (b *batch) add(i int, h Head, o Order) {
	if p := h.Check(b.api.APIVersion); len(p) > 0 {
		b.problems.In(fmt.Sprintf("[%d]", i), p)
	}
	if len(o.Problems) > 0 {
		b.problems.In(b.place(i), o.Problems)
	}
	if len(b.problems) > 0 {
		b.orders = nil
		return
	}
	o.requestID = h.RequestID
	b.orders = append(b.orders, o)
}

func (b *batch) serve(c *gin.Context, log Submitter) {
	outcomes, err := b.submit(c, log)
	if err == nil {
		err = b.recall(c, outcomes)
	}
	if err == nil && len(outcomes) == 1 {
		SetETag(c, outcomes[0].Seq)
		err = stale(outcomes[0].Err)
	}
	if err != nil {
		b.api.Fail(c, err)
		return
	}
	w := b.api.Answer(c, http.StatusMultiStatus, typeJSON)
	if len(outcomes) == 0 { // as EdgeX 2.3 does
		w.Print("null\n")
		w.End()
		return
	}
	separator := "["
	for i, o := range outcomes {
		w.Print(separator)
		separator = ","
		item := b.item(c, i, o.Err)
		w.Append(func(dst []byte) ([]byte, error) { return items.Append(dst, &item) })
	}
	w.Print("]\n")
	w.End()
}

var items = fastjson.Of[Item]()

func (b *batch) item(c *gin.Context, i int, err error) Item {
	item := Item{Envelope: b.api.Envelope(http.StatusOK)}
	item.RequestID, item.Message = b.orders[i].requestID, joined(b.orders[i].ignored, b.orders[i].Note)
	switch {
	case err != nil:
		item.StatusCode, item.Message = b.api.Describe(c, err)
		item.Errors = faults.Of(err)
		faults.Note(c.Request.Context(), b.place(i), err)
	case b.orders[i].ID != "" || b.orders[i].AddsPart:
		item.StatusCode, item.ID, item.Token = http.StatusCreated, b.orders[i].ID, b.orders[i].Token
	}
	return item
}

// joined is one message of two, each of which may be empty.
func joined(a, b string) string {
	if a != "" && b != "" {
		a += "; "
	}
	return a + b
}

// submit asks and reserves for each order and submits those that can be in one go.
func (b *batch) submit(c *gin.Context, log Submitter) ([]domain.Outcome, error) {
	if err := b.validate(c.Request.Context()); err != nil {
		return nil, err
	}
	b.lookUp(c.Request.Context())
	outcomes := make([]domain.Outcome, len(b.orders))
	reqs := make([]domain.Request, 0, len(b.orders))
	for i, o := range b.orders {
		refused := o.Refused
		if refused == nil && o.Reserve != nil {
			if done, err := o.Reserve(); err == nil {
				defer func() { done(outcomes[i].Seq) }() // also when Submit fails or panics: then no outcome has a sequence
			} else {
				refused = err
			}
		}
		switch {
		case refused == nil:
		case b.key == nil:
			outcomes[i].Err = refused
			continue
		default: // so that it is remembered
			o.Command = domain.Refuse{Err: refused}
		}
		reqs = append(reqs, b.request(i, o.Command, o.bytes))
	}
	if len(reqs) == 0 {
		return outcomes, nil
	}
	got, err := log.Submit(c.Request.Context(), reqs...)
	if err != nil {
		return nil, err
	}
	for i := range outcomes {
		if outcomes[i].Err == nil { // it was submitted
			outcomes[i], got = withoutKey(got[0]), got[1:]
		}
	}
	return outcomes, nil
}

// request stamps the command of an element: one time for all of a batch, one event id for each.
func (b *batch) request(i int, command domain.Command, bytes int) domain.Request {
	r := domain.Request{Stamp: b.stamp, Command: command, Bytes: bytes}
	if i > 0 || r.EventID == "" {
		r.EventID = b.api.NewID()
	}
	if b.key != nil {
		key := *b.key
		key.Element = i
		r.Key, r.MostAnswers = &key, b.api.IdempotencyAnswers
	}
	return r
}

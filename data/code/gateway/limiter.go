// Package gateway stands in front of the forecast API: it limits, authenticates and forwards.
package gateway

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Limits of a caller without a contract of its own.
const (
	defaultRate  = 5.0 // requests a second, on average
	defaultBurst = 20  // requests that may come at once
	forgetAfter  = 10 * time.Minute
)

// bucket is a token bucket. It is filled when it is looked at, not by a timer.
type bucket struct {
	tokens float64
	seen   time.Time
}

// Limiter grants each caller a number of requests a second.
type Limiter struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	rate    float64
	burst   int
	now     func() time.Time
}

// NewLimiter returns a limiter; a rate or burst of zero means the default.
func NewLimiter(rate float64, burst int) *Limiter {
	if rate == 0 {
		rate = defaultRate
	}
	if burst == 0 {
		burst = defaultBurst
	}
	return &Limiter{buckets: map[string]*bucket{}, rate: rate, burst: burst, now: time.Now}
}

// Allow takes one token of the caller. When there is none, it says after how long there will be one.
func (l *Limiter) Allow(caller string) (bool, time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	b, ok := l.buckets[caller]
	if !ok {
		b = &bucket{tokens: float64(l.burst), seen: now}
		l.buckets[caller] = b
	}
	b.tokens = math.Min(float64(l.burst), b.tokens+now.Sub(b.seen).Seconds()*l.rate)
	b.seen = now
	if b.tokens < 1 {
		wait := (1 - b.tokens) / l.rate
		return false, time.Duration(wait * float64(time.Second))
	}
	b.tokens--
	return true, 0
}

// Forget drops callers that have not been seen for a while, and returns how many.
// Without it, a scanner that invents a new key for each request would fill the memory.
func (l *Limiter) Forget() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	dropped := 0
	for caller, b := range l.buckets {
		if l.now().Sub(b.seen) > forgetAfter {
			delete(l.buckets, caller)
			dropped++
		}
	}
	return dropped
}

// Limit wraps a handler. Who asks too often gets status 429 and the header Retry-After.
func (l *Limiter) Limit(next http.Handler, callerOf func(*http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		allowed, wait := l.Allow(callerOf(r))
		if !allowed {
			seconds := int(math.Ceil(wait.Seconds()))
			w.Header().Set("Retry-After", strconv.Itoa(seconds))
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		next.ServeHTTP(w, r)
	})
}

//! Tasks that stay on their thread, inside of one future: for the inline executor, whatever executor that future is given to.
//!
//! What a runtime has of this kind serves any task. Here it is connections, woken once for each batch of calls, and a turn costs less.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    pin::Pin,
    rc::Rc,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

/// Polls of tasks before the thread's other tasks have their turn. tokio lets a future do 128 reads before it must yield.
const TURN: u32 = 32;
const ROOT: usize = 0;

type Task = Pin<Box<dyn Future<Output = ()>>>;
type Newcomers = Rc<RefCell<Vec<Task>>>;

thread_local! {
    /// The newcomers of the set that is being polled on this thread.
    static NEWCOMERS: Cell<Option<Newcomers>> = const { Cell::new(None) };
}

/// Runs `root` and, beside it, what is [`spawn`]ed; what of that is left at its end is dropped.
pub async fn run<T: 'static>(root: impl Future<Output = T> + 'static) -> T {
    let output = Rc::new(Cell::new(None));
    let slot = Rc::clone(&output);
    let mut set = Set::default();
    set.insert(Box::pin(async move { slot.set(Some(root.await)) }));
    poll_fn(|cx| set.poll(cx).map(|()| output.take().expect("the last that the root does is to set it"))).await
}

/// Adds a task to the set that is being polled on this thread. One that panics ends alone.
///
/// # Panics
/// Outside of [`run`].
pub fn spawn(task: impl Future<Output = ()> + 'static) {
    let newcomers = NEWCOMERS.take().expect("inside of `run_local`, as its documentation asks");
    newcomers.borrow_mut().push(Box::pin(task));
    NEWCOMERS.set(Some(newcomers));
}

#[derive(Default)]
struct Set {
    tasks: Vec<Option<Entry>>,
    free: Vec<usize>,
    /// Given to it while it was polled.
    newcomers: Newcomers,
    ready: Arc<Mutex<Ready>>,
}

struct Entry {
    task: Task,
    flag: Arc<TaskWaker>,
    waker: Waker,
}

/// The tasks to poll next.
#[derive(Default)]
struct Ready {
    queue: VecDeque<usize>,
    /// The set's own task, while it sleeps.
    sleeper: Option<Waker>,
}

struct TaskWaker {
    ready: Arc<Mutex<Ready>>,
    index: usize,
    queued: AtomicBool,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.queued.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut ready = lock(&self.ready);
        ready.queue.push_back(self.index);
        let sleeper = ready.sleeper.take();
        drop(ready);
        if let Some(sleeper) = sleeper {
            sleeper.wake();
        }
    }
}

impl Set {
    /// Ready at the end of the root.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _scope = Scope(NEWCOMERS.replace(Some(Rc::clone(&self.newcomers))));
        for _ in 0..TURN {
            let Some(index) = self.next(cx) else { return Poll::Pending };
            if self.poll_task(index).is_ready() {
                self.tasks[index] = None;
                if index == ROOT {
                    return Poll::Ready(());
                }
                self.free.push(index);
            }
            if !self.newcomers.borrow().is_empty() {
                self.newcomers.take().into_iter().for_each(|task| self.insert(task));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// The next task to poll. `None`: the first that is woken wakes the set.
    fn next(&self, cx: &Context<'_>) -> Option<usize> {
        let mut ready = lock(&self.ready);
        let next = ready.queue.pop_front();
        if next.is_none() {
            ready.sleeper = Some(cx.waker().clone());
        }
        next
    }

    fn poll_task(&mut self, index: usize) -> Poll<()> {
        // It may have ended since it was woken.
        let Some(Entry { task, flag, waker }) = &mut self.tasks[index] else { return Poll::Pending };
        // Before the poll: what wakes the task from now on counts.
        flag.queued.store(false, Ordering::Release);
        match catch_unwind(AssertUnwindSafe(|| task.as_mut().poll(&mut Context::from_waker(waker)))) {
            Ok(polled) => polled,
            Err(panic) if index == ROOT => resume_unwind(panic),
            // It ends alone; the panic hook has told of it.
            Err(_) => Poll::Ready(()),
        }
    }

    fn insert(&mut self, task: Task) {
        let index = self.free.pop().unwrap_or(self.tasks.len());
        let flag = Arc::new(TaskWaker { ready: Arc::clone(&self.ready), index, queued: AtomicBool::new(false) });
        let waker = Waker::from(Arc::clone(&flag));
        flag.wake_by_ref();
        if index == self.tasks.len() {
            self.tasks.push(None);
        }
        self.tasks[index] = Some(Entry { task, flag, waker });
    }
}

fn lock(ready: &Mutex<Ready>) -> MutexGuard<'_, Ready> {
    // Nothing under it panics halfway through a change.
    ready.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where `spawn` leads again afterwards: a set may be polled inside of another's task.
struct Scope(Option<Newcomers>);

impl Drop for Scope {
    fn drop(&mut self) {
        NEWCOMERS.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls until it is ready, which must not take long.
    fn polled<T>(future: impl Future<Output = T>) -> T {
        let mut future = std::pin::pin!(future);
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..1_000 {
            if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
                return output;
            }
        }
        panic!("a thousand polls did not end it");
    }

    /// Wakes itself, and lets the others go first.
    async fn pass() {
        let mut passed = false;
        poll_fn(|cx| {
            cx.waker().wake_by_ref();
            if std::mem::replace(&mut passed, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    #[test]
    fn tasks_run_beside_the_root_and_end_with_it() {
        let log = Rc::new(RefCell::new(Vec::new()));
        let (ours, theirs) = (Rc::clone(&log), Rc::clone(&log));
        let output = polled(run(async move {
            spawn(async move {
                theirs.borrow_mut().push("begun");
                let inner = Rc::clone(&theirs);
                spawn(async move { inner.borrow_mut().push("spawned by a task") });
                for _ in 0..3 {
                    pass().await;
                }
                theirs.borrow_mut().push("woken");
                std::future::pending::<()>().await;
            });
            while ours.borrow().len() < 3 {
                pass().await;
            }
            7
        }));
        assert_eq!((output, log.borrow().clone()), (7, vec!["begun", "spawned by a task", "woken"]));
        // The task that waits for ever is dropped, and with it its hold on the log.
        assert_eq!(Rc::strong_count(&log), 1);
    }

    #[test]
    fn a_task_that_panics_ends_alone() {
        let survived = Rc::new(Cell::new(false));
        let theirs = Rc::clone(&survived);
        polled(run(async move {
            spawn(async { panic!("a test's task panics") });
            let ours = Rc::clone(&theirs);
            spawn(async move {
                pass().await;
                theirs.set(true);
            });
            while !ours.get() {
                pass().await;
            }
        }));
        assert!(survived.get());
    }

    #[test]
    #[should_panic(expected = "the root's own")]
    fn a_root_that_panics_tells_its_caller() {
        polled(run(async { panic!("the root's own") }));
    }

    #[test]
    fn a_task_that_never_rests_leaves_others_their_turn() {
        // Each poll of the set must end, and the root must come to its own.
        polled(run(async {
            spawn(poll_fn(|cx| {
                cx.waker().wake_by_ref();
                Poll::Pending
            }));
            for _ in 0..3 {
                pass().await;
            }
        }));
    }

    #[test]
    fn places_are_used_again() {
        let mut set = Set::default();
        set.insert(Box::pin(async {
            for _ in 0..1_000 {
                spawn(async {});
                pass().await;
            }
        }));
        polled(poll_fn(|cx| set.poll(cx)));
        assert!(set.tasks.len() <= 4, "{} places", set.tasks.len());
    }

    #[test]
    fn a_task_that_another_thread_wakes_is_polled() {
        struct Thread(std::thread::Thread);
        impl Wake for Thread {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Thread(std::thread::current())));
        let mut woken = false;
        let mut root = std::pin::pin!(run(poll_fn(move |cx| {
            if std::mem::replace(&mut woken, true) {
                return Poll::Ready(());
            }
            let waker = cx.waker().clone();
            std::thread::spawn(move || waker.wake());
            Poll::Pending
        })));
        while root.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            std::thread::park();
        }
    }
}

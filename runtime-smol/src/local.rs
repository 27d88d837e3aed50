//! Tasks that stay on their thread, inside of one future: for the inline executor, whatever executor that future is given to.

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

/// Polls of tasks before the thread's other tasks have their turn.
const TURN: u32 = 64;
const ROOT: usize = 0;

type LocalTask = Pin<Box<dyn Future<Output = ()>>>;

thread_local! {
    /// What the set that is being polled on this thread was given meanwhile.
    static SPAWNED: RefCell<Option<Vec<LocalTask>>> = const { RefCell::new(None) };
}

/// Runs `root` and, beside it, what is [`spawn`]ed; what of that is left at its end is dropped.
pub(crate) async fn run<T: 'static>(root: impl Future<Output = T> + 'static) -> T {
    let output = Rc::new(Cell::new(None));
    let slot = Rc::clone(&output);
    let mut set = LocalSet { tasks: Vec::new(), free: Vec::new(), ready: Arc::default() };
    set.insert(Box::pin(async move { slot.set(Some(root.await)) }));
    poll_fn(|cx| set.poll(cx).map(|()| output.take().expect("the last that the root does is to set it"))).await
}

/// Adds a task to the set that is being polled on this thread.
pub(crate) fn spawn(task: LocalTask) {
    SPAWNED.with_borrow_mut(|spawned| spawned.as_mut().expect("inside of `run_local`, as its documentation asks").push(task));
}

struct LocalSet {
    tasks: Vec<Option<Entry>>,
    free: Vec<usize>,
    ready: Arc<Mutex<Ready>>,
}

struct Entry {
    task: LocalTask,
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

impl LocalSet {
    /// Ready at the end of the root.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _scope = Scope(SPAWNED.replace(Some(Vec::new())));
        for _ in 0..TURN {
            let Some(index) = self.next(cx) else { return Poll::Pending };
            if self.poll_task(index).is_ready() {
                self.tasks[index] = None;
                if index == ROOT {
                    return Poll::Ready(());
                }
                self.free.push(index);
            }
            let spawned = SPAWNED.with_borrow_mut(|spawned| spawned.as_mut().map(std::mem::take).unwrap_or_default());
            spawned.into_iter().for_each(|task| self.insert(task));
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

    fn insert(&mut self, task: LocalTask) {
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
struct Scope(Option<Vec<LocalTask>>);

impl Drop for Scope {
    fn drop(&mut self) {
        SPAWNED.set(self.0.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use async_io::Timer;
    use std::{future::pending, time::Duration};

    fn block_on<T: 'static>(root: impl Future<Output = T> + 'static) -> T {
        async_io::block_on(run(root))
    }

    #[test]
    fn tasks_run_beside_the_root_and_end_with_it() {
        let log = Rc::new(RefCell::new(Vec::new()));
        let (ours, theirs) = (Rc::clone(&log), Rc::clone(&log));
        let output = block_on(async move {
            spawn(Box::pin(async move {
                theirs.borrow_mut().push("begun");
                let inner = Rc::clone(&theirs);
                spawn(Box::pin(async move { inner.borrow_mut().push("spawned by a task") }));
                Timer::after(Duration::from_millis(5)).await;
                theirs.borrow_mut().push("woken");
                pending::<()>().await;
            }));
            while ours.borrow().len() < 3 {
                Timer::after(Duration::from_millis(1)).await;
            }
            7
        });
        assert_eq!((output, log.borrow().clone()), (7, vec!["begun", "spawned by a task", "woken"]));
        // The task that waits for ever is dropped, and with it its hold on the log.
        assert_eq!(Rc::strong_count(&log), 1);
    }

    #[test]
    fn a_task_that_panics_ends_alone() {
        let survived = Rc::new(Cell::new(false));
        let theirs = Rc::clone(&survived);
        block_on(async move {
            spawn(Box::pin(async { panic!("a test's task panics") }));
            let ours = Rc::clone(&theirs);
            spawn(Box::pin(async move {
                Timer::after(Duration::from_millis(1)).await;
                theirs.set(true);
            }));
            while !ours.get() {
                futures_lite::future::yield_now().await;
            }
        });
        assert!(survived.get());
    }

    #[test]
    #[should_panic(expected = "the root's own")]
    fn a_root_that_panics_tells_its_caller() {
        block_on(async { panic!("the root's own") });
    }

    #[test]
    fn a_task_that_never_rests_leaves_others_their_turn() {
        // Polled by hand: each poll of the set must end, and the root must come to its own.
        let root = async {
            spawn(Box::pin(poll_fn(|cx| {
                cx.waker().wake_by_ref();
                Poll::Pending
            })));
            for _ in 0..3 {
                futures_lite::future::yield_now().await;
            }
        };
        let mut set = std::pin::pin!(run(root));
        let mut cx = Context::from_waker(Waker::noop());
        let polls = (1..100).find(|_| set.as_mut().poll(&mut cx).is_ready());
        assert!(polls.is_some());
    }

    #[test]
    fn places_are_used_again() {
        let mut set = LocalSet { tasks: Vec::new(), free: Vec::new(), ready: Arc::default() };
        set.insert(Box::pin(async {
            for _ in 0..1_000 {
                spawn(Box::pin(async {}));
                futures_lite::future::yield_now().await;
            }
        }));
        async_io::block_on(poll_fn(|cx| set.poll(cx)));
        assert!(set.tasks.len() <= 4, "{} places", set.tasks.len());
    }
}
